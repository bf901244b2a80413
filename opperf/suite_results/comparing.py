"""Compares two runs of a suite, bench by bench."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from opperf.comparison.results import looked_for
from opperf.comparison.statistics.data import Thresholds, Verdict
from opperf.comparison.statistics.false_discovery import reject
from opperf.comparison.statistics.paired_t import Estimate, p_beyond, p_within
from opperf.defaults import ASSUMED_SCATTER, FAIL_ON
from opperf.errors import FOUND, INCONCLUSIVE
from opperf.machine.environment import Difference, notable_differences
from opperf.model import BenchFacts
from opperf.plurals import pluralize
from opperf.suite_results.performance import Performance, performance_of, why_not_comparable
from opperf.suite_results.ratios import (
    Pair,
    Ratio,
    by_key,
    check_keys,
    common_cases,
    estimates,
    ratios_of,
    rows_by,
    total_of,
)
from opperf.suite_results.suite_run import BenchResults, SuiteRun

CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)
"""Verdicts on a ratio that may be findings to fail on."""

MISSING = Verdict.MISSING.value

SAID: Mapping[str, str] = {MISSING: "no longer working"}

WITHOUT_RESULTS = "runs of a suite do not compare results"


class Row(NamedTuple):
    """A bench that both runs have figures of."""

    facts: BenchFacts
    ratio: Ratio
    """Performance of B over that of A: below 1 is worse."""
    verdict: Verdict
    p: float
    """Of no change beyond the threshold; not corrected for the number of benches."""
    base: Performance
    new: Performance
    note: str


Kind = Literal["refused", "broken", "fixed", "only A", "only B", "neither"]


class Change(NamedTuple):
    """A bench without a ratio."""

    facts: BenchFacts
    kind: Kind
    """`refused`: not comparable. `broken`: worked in A, and was to run in B and failed: all of it,
    or a case of a bench that has a ratio all the same."""
    reason: str


class Group(NamedTuple):
    """The ratio of the benches of one value of a key."""

    key: str
    value: str
    benches: int
    ratio: Ratio


class Comparison(NamedTuple):
    """Two runs, compared."""

    base: SuiteRun
    new: SuiteRun
    thresholds: Thresholds
    scatter: float
    rows: tuple[Row, ...]
    changes: tuple[Change, ...]
    groups: tuple[Group, ...]
    total: Ratio | None
    differences: tuple[Difference, ...]
    fail_on: tuple[str, ...] = FAIL_ON

    def count(self, verdict: Verdict) -> int:
        return sum(row.verdict is verdict for row in self.rows)

    def of_kind(self, kind: Kind) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.kind == kind)


def compare(
    base: SuiteRun,
    new: SuiteRun,
    thresholds: Thresholds = Thresholds(),  # noqa: B008  (immutable)
    by: Sequence[str] = (),
    scatter: float = ASSUMED_SCATTER,
    fail_on: Sequence[str] | None = None,
) -> Comparison:
    """Returns the comparison of two runs; `fail_on` are the findings to fail on, None for the usual
    ones. Raises `UsageError` for a key that no bench has."""
    findings = looked_for(fail_on, False, WITHOUT_RESULTS)
    ours = {bench.facts.name: bench for bench in base.benches}
    theirs = {bench.facts.name: bench for bench in new.benches}
    check_keys(by, [bench.facts for bench in (*base.benches, *new.benches)])
    pairs: dict[str, Pair] = {}
    changes: list[Change] = []
    for name in dict.fromkeys((*ours, *theirs)):
        joined = _join(ours.get(name), theirs.get(name))
        if isinstance(joined, Pair):
            pairs[name] = joined
            changes += _failing_cases(ours[name], theirs[name])
        elif joined is not None:
            changes.append(joined)
    found, assumed = estimates(list(pairs.values()), scatter)
    rows = verdicts_of(pairs, theirs, found, assumed, thresholds)
    facts = [row.facts for row in rows]
    weights = [bench.weight for bench in facts]
    groups = [
        Group(key, value, len(members[value]), ratio)
        for key in by
        for members in (rows_by(key, facts),)
        for value, ratio in by_key(members, found, weights).items()
    ]
    environments = [next(iter(side.environments.values()), None) for side in (base, new)]
    before, after = environments
    differences = notable_differences(before, after) if before and after else []
    return Comparison(
        base,
        new,
        thresholds,
        scatter,
        tuple(rows),
        tuple(changes),
        tuple(groups),
        total_of(found, weights) if rows else None,
        tuple(differences),
        findings,
    )


def _join(base: BenchResults | None, new: BenchResults | None) -> Pair | Change | None:
    """Returns the performances of a bench in both runs, or why it has no ratio; None for one that
    neither was to run."""
    if base is None or new is None:
        one = base or new
        assert one is not None
        kind: Kind = "only A" if new is None else "only B"
        return Change(one.facts, kind, "") if one.was_to_run else None
    if not (base.was_to_run or new.was_to_run):
        return None
    why = why_not_comparable(base, new)
    if why:
        return Change(new.facts, "refused", why)
    before, after = performance_of(base), performance_of(new)
    if before and after:
        pair = Pair(before, after)
        if common_cases(pair):
            return pair
        return Change(new.facts, "refused", "no case worked on both sides")
    if before:
        if not new.was_to_run:
            return Change(new.facts, "only A", new.facts.why_not or "disabled in B")
        return Change(new.facts, "broken", _reason(new))
    if after:
        return Change(new.facts, "fixed", _reason(base))
    return Change(new.facts, "neither", _reason(new))


def _failing_cases(base: BenchResults, new: BenchResults) -> Iterator[Change]:
    """Yields the cases of a bench that failed in B, in all attempts or in some, and in none of
    A."""
    for id, attempts in new.attempts.items():
        ours = base.attempts.get(id, ())
        failed = [attempt for attempt in attempts if not attempt.worked]
        if failed and ours and all(attempt.worked for attempt in ours):
            of_all = f"{len(failed)} of {pluralize(len(attempts), 'attempt')}"
            label = failed[0].record.case.label
            where = "" if len(new.attempts) == 1 else f"{label}: "
            yield Change(new.facts, "broken", f"{where}{of_all}: {failed[0].reason}")
    if new.failed_rounds and not base.failed_rounds:
        yield Change(new.facts, "broken", new.failed_rounds[0])


def _reason(bench: BenchResults) -> str:
    reasons = (attempt.reason for attempt in bench.all if not attempt.worked)
    return next(reasons, bench.facts.why_not or "never started")


def verdicts_of(
    pairs: Mapping[str, Pair],
    theirs: Mapping[str, BenchResults],
    found: Estimate,
    assumed: Sequence[bool],
    thresholds: Thresholds,
) -> list[Row]:
    """Returns the pairs, each with its ratio and verdict; `found` and `assumed` are those of
    `estimates`, and `theirs` has the benches of B by name."""
    p_changed = p_beyond(found, thresholds.margin)
    changed = reject(p_changed, thresholds.changed_q)
    changed &= np.abs(found.mean) > thresholds.margin
    same = p_within(found, thresholds.same_margin) <= thresholds.same_level
    ratios = ratios_of(found, assumed)
    rows = []
    for number, (name, pair) in enumerate(pairs.items()):
        if changed[number]:
            verdict = Verdict.IMPROVED if found.mean[number] > 0 else Verdict.REGRESSED
        else:
            verdict = Verdict.SAME if same[number] else Verdict.AMBIGUOUS
        common = common_cases(pair)
        left = len(set(pair.base.cases) | set(pair.new.cases)) - len(common)
        note = f"{pluralize(left, 'case')} of one side only" if left else ""
        rows.append(
            Row(
                theirs[name].facts,
                ratios[number],
                verdict,
                float(p_changed[number]),
                pair.base,
                pair.new,
                note,
            )
        )
    return rows


def outcome(comparison: Comparison) -> tuple[int, str]:
    """Returns the exit code, and the reason if it is not 0: 1 for a finding to fail on, 3 if that
    cannot be decided of all benches."""
    counts = {
        **{verdict.value: comparison.count(verdict) for verdict in CHANGED},
        MISSING: len(comparison.of_kind("broken")),
    }
    said = [f"{counts[word]} {SAID.get(word, word)}" for word in comparison.fail_on if counts[word]]
    if said:
        return FOUND, ", ".join(said)
    if not comparison.fail_on:
        return 0, ""
    is_open = {verdict.value for verdict in CHANGED} & set(comparison.fail_on)
    open_rows = [row for row in comparison.rows if is_open and row.verdict is Verdict.AMBIGUOUS]
    refused = len(comparison.of_kind("refused"))
    if open_rows or refused or not comparison.rows:
        said = []
        if open_rows:
            more = "run each side again, and name all runs of it"
            said.append(f"{len(open_rows)} ambiguous: {more}")
        if refused:
            said.append(f"{refused} not comparable")
        return INCONCLUSIVE, f"cannot decide: {'; '.join(said) or 'no common bench'}"
    return 0, ""
