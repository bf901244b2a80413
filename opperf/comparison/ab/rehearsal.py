"""The rehearsal of a session: every pair is called once in both arms, to find whether it runs,
which passes it has, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from opperf.comparison.ab.pairs import Pair
from opperf.execution.progress import Progress
from opperf.frameworks.capabilities import needs_build
from opperf.model import PASSES, WITHOUT_FIGURE, Case, Difference, Pass, Record, Status
from opperf.results.text import add_distinct
from opperf.results.verifications import wrong_reason
from opperf.worker.client import Worker

WARMUP_FACTOR = 1.2
"""Time of a case as a multiple of its time limit: warm-up adds a fifth."""


@dataclass(frozen=True)
class Rehearsal:
    """The result of calling each pair once in both arms."""

    pairs: tuple[Pair, ...]
    excluded: dict[str, str]
    visit_s: dict[str, float]
    """Seconds that a process of the slower arm takes for a pair, by pair."""
    first_s: float
    """Seconds that the first case of a process takes in addition."""
    lacking: dict[str, tuple[Difference, ...]]
    """Passes that one arm alone has, by pair."""


def rehearse(
    pairs: Sequence[Pair], workers: Mapping[str, Worker], case_time_s: float, progress: Progress
) -> Rehearsal:
    """Calls every pair once in each arm, and ends their processes, one before the other begins."""
    records: dict[str, dict[str, Record]] = {"A": {}, "B": {}}
    first_s = 0.0
    with progress:
        for arm, found in records.items():
            worker = workers[arm]
            compiled = [case for case in (pair.of(arm) for pair in pairs) if needs_build(case)]
            if compiled:
                worker.build(compiled)
            # Called twice: imports are not part of the first case's own time.
            first = worker.measure(unverified(_once(pairs[0].of(arm))))
            for pair in pairs:
                case = _once(pair.of(arm))
                progress.begin(case)
                found[pair.id] = worker.measure(case)
                progress.end(found[pair.id])
            first_s = max(first_s, first.wall_s - found[pairs[0].id].wall_s)
            worker.end_process()
    kept: list[Pair] = []
    excluded: dict[str, str] = {}
    lacking: dict[str, tuple[Difference, ...]] = {}
    for pair in pairs:
        reasons = {
            arm: why for arm, found in records.items() if (why := _why_not_ok(found[pair.id]))
        }
        both = {arm: found[pair.id] for arm, found in records.items()}
        passes = tuple(
            name for name in PASSES if all(name in own.summaries for own in both.values())
        )
        alone = tuple(_lacking(both))
        if reasons or not (passes or alone):
            add_distinct(excluded, f"{pair.label} ({pair.inputs})", pair.id, _why_excluded(reasons))
            continue
        # One without a pass in both arms has no figure, and is a difference.
        kept.append(pair.with_passes(passes))
        if alone:
            lacking[pair.id] = alone
    return Rehearsal(
        tuple(kept),
        excluded,
        {
            # A verification's time is the rehearsal's alone: at most, it is too much here.
            pair.id: max(found[pair.id].wall_s for found in records.values())
            + WARMUP_FACTOR * case_time_s
            for pair in kept
        },
        first_s,
        lacking,
    )


def lacking_pass(name: str, arm: str, reason: str) -> Difference:
    """Returns the difference of a pass, or another metric, that an arm alone lacks, with why."""
    other = "B" if arm == "A" else "A"
    return Difference(name, f"{other} has it, {arm} has not ({reason})")


def _lacking(both: Mapping[str, Record]) -> Iterator[Difference]:
    for name in PASSES:
        without = [arm for arm, record in both.items() if name not in record.summaries]
        if len(without) == 1:
            (arm,) = without
            yield lacking_pass(name, arm, _why_without(both[arm], name))


def _why_without(record: Record, name: Pass) -> str:
    if name not in record.case.passes:
        return "its case is without it"
    note = record.note(name, *WITHOUT_FIGURE)
    return note.message if note else "it was not produced"


def _why_excluded(reasons: Mapping[str, str]) -> str:
    if not reasons:
        return "no pass runs a kernel in either arm"
    if len(set(reasons.values())) < len(reasons):
        return f"both: {reasons['A']}"
    return "; ".join(f"{arm}: {reason}" for arm, reason in reasons.items())


def _why_not_ok(record: Record) -> str:
    """Returns why a record's time is compared with no other; empty if it is."""
    if record.status is not Status.OK:
        return f"{record.status.value}: {record.reason}"
    return wrong_reason(record)


def unverified(case: Case) -> Case:
    """Returns the case without a verification: the rehearsal has verified it."""
    settings = msgspec.structs.replace(case.settings, verify=False)
    return msgspec.structs.replace(case, settings=settings)


def _once(case: Case) -> Case:
    settings = msgspec.structs.replace(case.settings, warmup=0, runs=1, max_time_s=None)
    return msgspec.structs.replace(case, settings=settings)
