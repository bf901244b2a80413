"""Compares two runs of a suite, bench by bench."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from opperf.comparison.compared import (
    ALL,
    Change,
    ChangeKind,
    ComparedRow,
    Comparison,
    GroupRatio,
    Side,
    interval_text,
    ratio_text,
)
from opperf.comparison.results import looked_for
from opperf.comparison.sections import RowGroup, Telling, titles_of
from opperf.comparison.suites.score_report import machine_of
from opperf.defaults import ASSUMED_SCATTER
from opperf.errors import FOUND, INCONCLUSIVE
from opperf.machine.environment import notable_differences
from opperf.model import BenchFacts
from opperf.plurals import pluralize
from opperf.reports.markdown import code
from opperf.reports.model import Section
from opperf.statistics.data import Thresholds, Verdict
from opperf.statistics.false_discovery import reject
from opperf.statistics.paired_t import Estimate, p_beyond, p_within
from opperf.suites.results.performance import performance_of, why_not_comparable
from opperf.suites.results.ratios import (
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
from opperf.suites.results.run import BenchResults, SuiteRun

CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)
"""Verdicts on a ratio that may be findings to fail on."""

SAID: Mapping[str, str] = {Verdict.MISSING.value: "no longer working"}

WITHOUT_RESULTS = "runs of a suite do not compare results"

PERFORMANCE = "performance"
"""The metric of a bench: below 1 is worse."""

ASSUMED = "scatter assumed"


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
    facts = [theirs[name].facts for name in pairs]
    rows = verdicts_of(pairs, facts, found, assumed, thresholds)
    weights = [bench.weight for bench in facts]
    total = total_of(found, weights) if rows else None
    groups = (
        _group(key, value, len(members[value]), ratio)
        for key in by
        for members in (rows_by(key, facts),)
        for value, ratio in by_key(members, found, weights).items()
    )
    before, after = (next(iter(side.environments.values()), None) for side in (base, new))
    return Comparison(
        command="suite compare",
        sides=tuple(Side(side.name, machine=machine_of(side.environments)) for side in (base, new)),
        labels=("A", "B"),
        threshold=thresholds.threshold,
        same_within=thresholds.same_within,
        rows=tuple(rows),
        groups=tuple(groups),
        total=_group("suite", ALL, len(rows), total) if total else None,
        changes=tuple(changes),
        missing=frozenset({ChangeKind.BROKEN}),
        differences=tuple(notable_differences(before, after)) if before and after else (),
        fail_on=findings,
        notes=(*base.warnings, *new.warnings),
    )


def _group(key: str, value: str, benches: int, ratio: Ratio) -> GroupRatio:
    return GroupRatio(value, PERFORMANCE, ratio.value, benches, ratio.low, ratio.high, key)


def _change(facts: BenchFacts, kind: ChangeKind, reason: str) -> Change:
    return Change(kind, facts.name, facts.name, "", reason=reason, category=facts.group)


def _join(base: BenchResults | None, new: BenchResults | None) -> Pair | Change | None:
    """Returns the performances of a bench in both runs, or why it has no ratio; None for one that
    neither was to run."""
    if base is None or new is None:
        one = base or new
        assert one is not None
        kind = ChangeKind.DISAPPEARED if new is None else ChangeKind.APPEARED
        return _change(one.facts, kind, "") if one.was_to_run else None
    if not (base.was_to_run or new.was_to_run):
        return None
    why = why_not_comparable(base, new)
    if why:
        return _change(new.facts, ChangeKind.REFUSED, why)
    before, after = performance_of(base), performance_of(new)
    if before and after:
        pair = Pair(before, after)
        if common_cases(pair):
            return pair
        return _change(new.facts, ChangeKind.REFUSED, "no case worked on both sides")
    if before:
        if not new.was_to_run:
            return _change(new.facts, ChangeKind.DISAPPEARED, new.facts.why_not or "disabled in B")
        return _change(new.facts, ChangeKind.BROKEN, _reason(new))
    if after:
        return _change(new.facts, ChangeKind.FIXED, _reason(base))
    return _change(new.facts, ChangeKind.NEITHER, _reason(new))


def _failing_cases(base: BenchResults, new: BenchResults) -> Iterator[Change]:
    for id, attempts in new.attempts.items():
        ours = base.attempts.get(id, ())
        failed = [attempt for attempt in attempts if not attempt.worked]
        if failed and ours and all(attempt.worked for attempt in ours):
            of_all = f"{len(failed)} of {pluralize(len(attempts), 'attempt')}"
            label = failed[0].record.case.label
            where = "" if len(new.attempts) == 1 else f"{label}: "
            yield _change(new.facts, ChangeKind.BROKEN, f"{where}{of_all}: {failed[0].reason}")
    if new.failed_rounds and not base.failed_rounds:
        yield _change(new.facts, ChangeKind.BROKEN, new.failed_rounds[0])


def _reason(bench: BenchResults) -> str:
    reasons = (attempt.reason for attempt in bench.all if not attempt.worked)
    return next(reasons, bench.facts.why_not or "never started")


def verdicts_of(
    pairs: Mapping[str, Pair],
    facts: Sequence[BenchFacts],
    found: Estimate,
    assumed: Sequence[bool],
    thresholds: Thresholds,
) -> list[ComparedRow]:
    """Returns the pairs, each with its ratio and verdict; `found` and `assumed` are those of
    `estimates`, and `facts` of the benches of B."""
    p_changed = p_beyond(found, thresholds.margin)
    changed = reject(p_changed, thresholds.changed_q)
    changed &= np.abs(found.mean) > thresholds.margin
    same = p_within(found, thresholds.same_margin) <= thresholds.same_level
    ratios = ratios_of(found, assumed)
    rows = []
    for number, pair in enumerate(pairs.values()):
        if changed[number]:
            verdict = Verdict.IMPROVED if found.mean[number] > 0 else Verdict.REGRESSED
        else:
            verdict = Verdict.SAME if same[number] else Verdict.AMBIGUOUS
        rows.append(_row(facts[number], pair, ratios[number], verdict, float(p_changed[number])))
    return rows


def _row(bench: BenchFacts, pair: Pair, ratio: Ratio, verdict: Verdict, p: float) -> ComparedRow:
    base, new = pair
    left = len({*base.cases, *new.cases}) - len(common_cases(pair))
    runs = f"runs: {base.attempts} and {new.attempts}"
    return ComparedRow(
        id=bench.name,
        operator=bench.name,
        inputs="",
        metric=PERFORMANCE,
        verdict=verdict,
        category=bench.group,
        unit=new.unit,
        base=base.value,
        new=new.value,
        base_half_width=base.half_width,
        new_half_width=new.half_width,
        base_unreliable=base.half_width is None,
        new_unreliable=new.half_width is None,
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        p=p if math.isfinite(p) else None,
        point=", ".join(f"{name}={value}" for name, value in bench.point.items()),
        note=f"{pluralize(left, 'case')} of one side only" if left else "",
        basis=f"{runs}, {ASSUMED}" if ratio.assumed else runs,
    )


def outcome(comparison: Comparison) -> tuple[int, str]:
    """Returns the exit code, and the reason if it is not 0: 1 for a finding to fail on, 3 if that
    cannot be decided of all benches."""
    counts = {verdict.value: comparison.counts.get(verdict, 0) for verdict in CHANGED}
    counts[Verdict.MISSING.value] = len(comparison.changes_of(ChangeKind.BROKEN))
    said = [f"{counts[word]} {SAID.get(word, word)}" for word in comparison.fail_on if counts[word]]
    if said:
        return FOUND, ", ".join(said)
    if not comparison.fail_on:
        return 0, ""
    is_open = {verdict.value for verdict in CHANGED} & set(comparison.fail_on)
    open_rows = [row for row in comparison.rows if is_open and row.verdict is Verdict.AMBIGUOUS]
    refused = len(comparison.changes_of(ChangeKind.REFUSED))
    if open_rows or refused or not comparison.rows:
        said = []
        if open_rows:
            more = "run each side again, and name all runs of it"
            said.append(f"{len(open_rows)} ambiguous: {more}")
        if refused:
            said.append(f"{refused} not comparable")
        return INCONCLUSIVE, f"cannot decide: {'; '.join(said) or 'no common bench'}"
    return 0, ""


def telling_of(found: Comparison, scatter: float = ASSUMED_SCATTER) -> Telling:
    """Returns what is said of two runs; `scatter` is that which was assumed."""
    base, new = found.base.name, found.new.name
    rows = sorted(found.rows, key=lambda row: row.ratio or 0.0)
    said = ["Ratio: performance of B over that of A; below 1 is worse."]
    if any(row.basis.endswith(ASSUMED) for row in rows):
        said.append(
            f"Of benches that were run once on each side, a scatter of {scatter:.0%} between "
            "runs is assumed (--scatter), and as much again of a single observation; several runs "
            "of a side show what it is."
        )
    return Telling(
        title=f"{new} (B) against {base} (A)",
        headline=f"Suite: {code(new)} against {code(base)}",
        answer=(_summary(found),),
        groups=[RowGroup("Benches", rows, ("Metric",))],
        closing=said,
        case="Bench",
        how=Section(prose=[_summary(found)], in_answer=True),
        samples="runs",
    )


def _summary(found: Comparison) -> str:
    parts = [f"{number} {verdict.value}" for verdict, number in found.counts.items()]
    for kind, title in titles_of(found.labels).items():
        if changes := found.changes_of(kind):
            parts.append(f"{len(changes)} {title[0].lower()}{title[1:]}")
    count = len(found.rows) + len(found.changes)
    total = ""
    if one := found.total:
        total = f" Total: {ratio_text(one.ratio)} ({interval_text(one.low, one.high)})."
    return f"{count} benches: {', '.join(parts) or 'none in common'}.{total}"
