"""Measures a session: one process of each arm for a rehearsal, and one for each replicate.

A replicate is one process, because a case's time depends on the memory layout and other accidents
of its process; `workers` has which processes are forks of one. So where a case ends its process,
the replicate starts again without that case, which is then excluded from the session; where a
process ends by itself, it starts again as it was.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.procedure import Place, Stage
from opperf.comparison.ab.session import Lost, ReplicateLine, Session, key
from opperf.comparison.ab.spending import parts_of
from opperf.comparison.ab.threads import with_all_threads
from opperf.comparison.ab.workers import BlockWorkers
from opperf.comparison.statistics.data import Arm, Replicate
from opperf.comparison.statistics.design import visiting_order
from opperf.errors import WorkerError
from opperf.execution.progress import Progress
from opperf.execution.run_header import utc_now
from opperf.frameworks.capabilities import needs_build
from opperf.model import WITHOUT_FIGURE, Case, Record, Status
from opperf.results.text import add_distinct
from opperf.worker.client import Worker

ATTEMPTS = 5
"""Most processes for one replicate. Each case that ends its process is excluded from then on, so
that more than a few mean a machine or a build that cannot be measured."""

FATAL = (Status.CRASHED, Status.TIMEOUT)
"""Statuses of a case that has ended its process."""

WARMUP_FACTOR = 1.2
"""Time of a case as a multiple of its time limit: warm-up adds a fifth."""


@dataclass(frozen=True)
class Rehearsal:
    """The result of calling each pair once in both arms."""

    pairs: tuple[Pair, ...]
    """Those that run in both arms, with the passes that both have."""
    excluded: dict[str, str]
    visit_s: dict[str, float]
    """Seconds that a process of the slower arm takes for a pair, by pair."""
    first_s: float
    """Seconds that the first case of a process takes in addition."""


def rehearse(
    pairs: Sequence[Pair], workers: Mapping[Arm, Worker], case_time_s: float, progress: Progress
) -> Rehearsal:
    """Calls every pair once in each arm, to find whether it runs, its passes, and how long it takes
    in addition to the measured time. Ends their processes, one before the other begins."""
    records: dict[Arm, dict[str, Record]] = {"A": {}, "B": {}}
    first_s = 0.0
    with progress:
        for arm, found in records.items():
            worker = workers[arm]
            compiled = [case for case in (pair.of(arm) for pair in pairs) if needs_build(case)]
            if compiled:
                worker.build(compiled)
            # Called twice: imports are not part of the first case's own time.
            first = worker.measure(_once(pairs[0].of(arm)))
            for pair in pairs:
                case = _once(pair.of(arm))
                progress.begin(case)
                found[pair.id] = worker.measure(case)
                progress.end(found[pair.id])
            first_s = max(first_s, first.wall_s - found[pairs[0].id].wall_s)
            worker.end_process()
    kept: list[Pair] = []
    excluded: dict[str, str] = {}
    for pair in pairs:
        reasons = {
            arm: f"{found[pair.id].status.value}: {found[pair.id].reason}"
            for arm, found in records.items()
            if found[pair.id].status is not Status.OK
        }
        both = [found[pair.id].summaries for found in records.values()]
        passes = tuple(one for one in pair.a.passes if all(one in own for own in both))
        if reasons or not passes:
            add_distinct(excluded, f"{pair.label} ({pair.inputs})", pair.id, _why_excluded(reasons))
        else:
            kept.append(pair.with_passes(passes))
    return Rehearsal(
        tuple(kept),
        excluded,
        {
            pair.id: max(found[pair.id].wall_s for found in records.values())
            + WARMUP_FACTOR * case_time_s
            for pair in kept
        },
        first_s,
    )


def _why_excluded(reasons: Mapping[Arm, str]) -> str:
    """Why a pair does not run, from the reasons in either arm."""
    if not reasons:
        return "no pass runs a kernel in both arms"
    if len(set(reasons.values())) < len(reasons):
        return f"both: {reasons['A']}"
    return "; ".join(f"{arm}: {reason}" for arm, reason in reasons.items())


def _once(case: Case) -> Case:
    settings = msgspec.structs.replace(case.settings, warmup=0, runs=1, max_time_s=None)
    return msgspec.structs.replace(case, settings=settings)


def select_cases(
    pairs: Iterable[Pair], figures: Iterable[str], lost: Mapping[str, Lost], arm: Arm
) -> dict[str, Case]:
    """The cases that a process of an arm measures, by pair, each with the passes among `figures`,
    or all if there are none; without the pairs that have ended a process."""
    wanted = frozenset(figures)
    cases: dict[str, Case] = {}
    for pair in pairs:
        if pair.id in lost and lost[pair.id].ended:
            continue
        case = pair.of(arm)
        passes = tuple(one for one in case.passes if not wanted or key(pair.id, one) in wanted)
        if passes:
            cases[pair.id] = msgspec.structs.replace(case, passes=passes)
    return cases


def cases_at(stage: Stage, session: Session, arm: Arm) -> dict[str, Case]:
    """The cases that a process of an arm measures in a stage, by pair. The coarse look omits what
    has ended a process before, but costs the verdicts no case."""
    pairs, lost = session.header.pairs, session.lost
    if stage.phase != "coarse":
        return select_cases(pairs, stage.figures, lost, arm)
    chosen = select_cases(pairs, stage.figures, {**session.coarse_lost, **_ended(lost)}, arm)
    return {name: with_all_threads(case) for name, case in chosen.items()}


def _ended(lost: Mapping[str, Lost]) -> dict[str, Lost]:
    return {name: one for name, one in lost.items() if one.ended}


class _IncompleteReplicate(Exception):
    """A worker did not complete the replicate. `pair` is the one that ended it, if one did."""

    def __init__(self, pair: str = "", reason: str = "") -> None:
        super().__init__(pair, reason)
        self.pair, self.reason = pair, reason


def measure(
    place: Place,
    cases: Mapping[str, Case],
    seed: int,
    workers: BlockWorkers,
    progress: Progress,
) -> ReplicateLine:
    """Measures the cases once, in the order of a place, in one process.

    Raises `WorkerError` if no worker completes the replicate.
    """
    started, begun = utc_now(), time.monotonic()
    order = visiting_order(cases, seed, place.phase, place.block, place.position)
    counted: set[str] = set()
    lost: dict[str, Lost] = {}
    records: dict[str, Record] = {}
    for attempts_left in reversed(range(ATTEMPTS)):
        todo = [name for name in order if name not in lost]
        try:
            records = _visit(todo, cases, place, workers, progress, counted) if todo else {}
            break
        except _IncompleteReplicate as broken:
            if broken.pair:
                lost[broken.pair] = Lost(f"{place.arm}: {broken.reason}", ended=True)
            if not attempts_left:
                why = "".join(f"; {cases[name].label}: {one.reason}" for name, one in lost.items())
                raise WorkerError(
                    f"no worker completed the replicate: {ATTEMPTS} processes of arm {place.arm} "
                    f"ended early{why}"
                ) from broken
    values: dict[str, float] = {}
    reference: dict[str, dict[str, float]] = {}
    for name, record in records.items():
        found, reason = _values(name, record)
        values |= found
        for metric in record.case.passes:
            if key(name, metric) in found and metric in record.reference:
                works = record.reference[metric].items()
                reference[key(name, metric)] = {work: math.log(ns) for work, ns in works}
        if reason:
            lost[name] = Lost(f"{place.arm}: {reason}")
    return ReplicateLine(
        Replicate(place.phase, place.block, place.position, place.label, values, reference),
        started,
        time.monotonic() - begun,
        lost,
        parts_of(records.values()),
    )


def _visit(
    order: Iterable[str],
    cases: Mapping[str, Case],
    place: Place,
    workers: BlockWorkers,
    progress: Progress,
    counted: set[str],
) -> dict[str, Record]:
    """Measures the cases in one process; their records, by pair. `counted` are those that an
    earlier attempt has added to the progress.

    Raises `_IncompleteReplicate` if the process ended.
    """
    records: dict[str, Record] = {}
    worker = workers.begin_process(place, cases.values())
    process = worker.launches
    for name in order:
        if name not in counted:
            progress.begin(cases[name])
        record = records[name] = worker.measure(cases[name])
        if name not in counted:
            progress.end(record)
            counted.add(name)
        if record.status in FATAL:
            raise _IncompleteReplicate(name, f"{record.status.value}: {record.reason}")
        if worker.launches != process:
            raise _IncompleteReplicate
    return records


def _values(name: str, record: Record) -> tuple[dict[str, float], str]:
    """Logarithms of the medians of a record, by figure, and why the others are missing."""
    if record.status is not Status.OK:
        return {}, f"{record.status.value}: {record.reason}"
    values: dict[str, float] = {}
    missing: list[str] = []
    for metric in record.case.passes:
        summary = record.summaries.get(metric)
        if summary is not None and summary.median > 0:
            values[key(name, metric)] = math.log(summary.median)
        else:
            note = record.note(metric, *WITHOUT_FIGURE)
            missing.append(f"{metric}: {note.message if note else 'its median is zero'}")
    return values, "; ".join(missing)
