"""The rehearsal of a session: every pair is called once in both arms, to find whether it runs,
which passes it has, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from opperf.comparison.ab.absences import Absence
from opperf.comparison.ab.pairs import Pair, usual_id
from opperf.execution.progress import Progress
from opperf.frameworks.capabilities import needs_build
from opperf.model import PASSES, WITHOUT_FIGURE, Case, Difference, Pass, Record
from opperf.results.verifications import why_without_figures
from opperf.worker.client import Worker

WARMUP_FACTOR = 1.2
"""Time of a case as a multiple of its time limit: warm-up adds a fifth."""


@dataclass(frozen=True)
class Rehearsal:
    """The result of calling each pair once in both arms."""

    pairs: tuple[Pair, ...]
    excluded: tuple[Absence, ...]
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
    if not pairs:
        return Rehearsal((), (), {}, 0.0, {})
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
    excluded: list[Absence] = []
    lacking: dict[str, tuple[Difference, ...]] = {}
    for pair in pairs:
        own = {arm: found[pair.id] for arm, found in records.items()}
        passes = tuple(
            name for name in PASSES if all(name in record.summaries for record in own.values())
        )
        reasons = _why_excluded(own)
        if not reasons and passes:
            kept.append(pair.with_passes(passes))
            if alone := tuple(_lacking(own)):
                lacking[pair.id] = alone
            continue
        measured = tuple(name for name in PASSES if name in own["A"].summaries)
        excluded.append(
            Absence(
                usual_id(pair.a),
                pair.label,
                pair.inputs,
                measured,
                reasons or dict.fromkeys(own, "no pass is in both arms"),
                is_missing=reasons.keys() == {"B"},
            )
        )
    return Rehearsal(
        tuple(kept),
        tuple(excluded),
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
    return Difference(name, f"{other} has it, {arm} has not ({reason})", lacks=arm)


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


def _why_excluded(records: Mapping[str, Record]) -> dict[str, str]:
    """Returns the arms that have no time of a pair, each with the reason."""
    reasons = {}
    for arm, record in records.items():
        why = why_without_figures(record)
        if not why and not record.summaries.keys() & set(PASSES):
            lost = (f"{name}: {_why_without(record, name)}" for name in record.case.passes)
            why = "; ".join(lost)
        if why:
            reasons[arm] = why
    return reasons


def unverified(case: Case) -> Case:
    """Returns the case without a verification: the rehearsal has verified it."""
    settings = msgspec.structs.replace(case.settings, verify=False)
    return msgspec.structs.replace(case, settings=settings)


def _once(case: Case) -> Case:
    settings = msgspec.structs.replace(case.settings, warmup=0, runs=1, max_time_s=None)
    return msgspec.structs.replace(case, settings=settings)
