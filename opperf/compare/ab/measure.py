"""Processes of a session: one of each arm to rehearse in, and one for each replicate.

A replicate is one process: what a case takes depends on the memory layout and the luck of its
process, and two processes would be two draws of it. So where a case ends its process, the replicate
is begun anew without that case, which is excluded from the rest of the session, and where a process
ends by itself, the replicate is begun anew as it was.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from opperf.compare.ab.pairs import Pair
from opperf.compare.ab.procedure import Place
from opperf.compare.ab.session import Lost, ReplicateLine, key
from opperf.compare.statistics.data import Arm, Replicate
from opperf.compare.statistics.design import visiting_order
from opperf.errors import WorkerError
from opperf.model import WITHOUT_FIGURE, Case, Record, Status
from opperf.results.text import inputs_text
from opperf.runner.pool import Worker
from opperf.runner.progress import Progress
from opperf.runner.session import utc_now

ATTEMPTS = 5
"""Processes that are begun for one replicate. A case that ends its process is left out from then
on, so that more than a few mean a machine or a build on which nothing can be measured."""

ENDED = (Status.CRASHED, Status.TIMEOUT)
"""Ends of a case that are its process's as well."""

WARMING = 1.2
"""What a case takes of its time limit: warm-up has a fifth of it beside it."""

Start = Callable[[Arm], Worker]
"""Makes a fresh process of an arm."""


@dataclass(frozen=True)
class Rehearsal:
    """What came of calling each pair once in both arms."""

    pairs: tuple[Pair, ...]
    """Those that run in both, with the passes that both have."""
    excluded: dict[str, str]
    visit_s: dict[str, float]
    """By pair, the seconds that a process will take for it, the slower arm's."""
    first_s: float
    """Seconds that the first case of a process takes beside its own time."""


def rehearse(
    pairs: Sequence[Pair], start: Start, case_time_s: float, progress: Progress
) -> Rehearsal:
    """Call every pair once in each arm, to see whether it runs, with which passes, and how long
    the rest of a visit takes beside the time that is measured."""
    records: dict[Arm, dict[str, Record]] = {"A": {}, "B": {}}
    first_s = 0.0
    with progress:
        for arm, found in records.items():
            with start(arm) as worker:
                # What is imported for it is none of its own.
                first = worker.measure(_once(pairs[0].of(arm)))
                for pair in pairs:
                    case = _once(pair.of(arm))
                    progress.begin(case)
                    found[pair.id] = worker.measure(case)
                    progress.end(found[pair.id])
                first_s = max(first_s, first.wall_s - found[pairs[0].id].wall_s)
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
            name = f"{pair.label} ({inputs_text(pair.a)})"
            excluded[name] = _why_excluded(reasons)
        else:
            kept.append(pair.with_passes(passes))
    return Rehearsal(
        tuple(kept),
        excluded,
        {
            pair.id: max(found[pair.id].wall_s for found in records.values())
            + WARMING * case_time_s
            for pair in kept
        },
        first_s,
    )


def _why_excluded(reasons: Mapping[Arm, str]) -> str:
    """Why a pair does not run, from the reasons of the arms it does not run in."""
    if not reasons:
        return "it runs no kernel of its own in both"
    if len(set(reasons.values())) < len(reasons):
        return f"both: {reasons['A']}"
    return "; ".join(f"{arm}: {reason}" for arm, reason in reasons.items())


def _once(case: Case) -> Case:
    settings = msgspec.structs.replace(case.settings, warmup=0, runs=1, max_time_s=None)
    return msgspec.structs.replace(case, settings=settings)


def chosen_cases(
    pairs: Iterable[Pair], figures: Iterable[str], lost: Mapping[str, Lost], arm: Arm
) -> dict[str, Case]:
    """The cases that a process of an arm visits, by pair, each with the passes that are wanted:
    all figures, if none is named, of the pairs that have ended no process."""
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


class _Broken(Exception):
    """Not one process has visited all cases. `pair` is the one that ended it, if one did."""

    def __init__(self, pair: str = "", reason: str = "") -> None:
        super().__init__(pair, reason)
        self.pair, self.reason = pair, reason


def measure(
    place: Place, cases: Mapping[str, Case], seed: int, start: Start, progress: Progress
) -> ReplicateLine:
    """Visit the cases once, in this place's order, in one process.

    Raises `WorkerError` if no process lives to the end.
    """
    started, begun = utc_now(), time.monotonic()
    order = visiting_order(cases, seed, place.phase, place.block, place.position)
    told: set[str] = set()
    lost: dict[str, Lost] = {}
    records: dict[str, Record] = {}
    for attempts_left in reversed(range(ATTEMPTS)):
        todo = [name for name in order if name not in lost]
        try:
            records = _visited(todo, cases, place.arm, start, progress, told) if todo else {}
            break
        except _Broken as broken:
            if broken.pair:
                lost[broken.pair] = Lost(f"{place.arm}: {broken.reason}", ended=True)
            if not attempts_left:
                why = "".join(f"; {cases[name].label}: {one.reason}" for name, one in lost.items())
                raise WorkerError(
                    f"{ATTEMPTS} processes of arm {place.arm} ended before they had visited all "
                    f"cases{why}"
                ) from broken
    values: dict[str, float] = {}
    paces: dict[str, dict[str, float]] = {}
    for name, record in records.items():
        found, reason = _values(name, record)
        values |= found
        for metric in record.case.passes:
            if key(name, metric) in found and metric in record.paces:
                works = record.paces[metric].items()
                paces[key(name, metric)] = {work: math.log(ns) for work, ns in works}
        if reason:
            lost[name] = Lost(f"{place.arm}: {reason}")
    return ReplicateLine(
        Replicate(place.phase, place.block, place.position, place.label, values, paces),
        started,
        time.monotonic() - begun,
        lost,
    )


def _visited(
    order: Iterable[str],
    cases: Mapping[str, Case],
    arm: Arm,
    start: Start,
    progress: Progress,
    told: set[str],
) -> dict[str, Record]:
    """Records of the cases, by pair, all from one process. `told` are those that the progress
    knows of from an earlier attempt.

    Raises `_Broken` if the process ended.
    """
    records: dict[str, Record] = {}
    with start(arm) as worker:
        worker.environment()
        process = worker.launches
        for name in order:
            if name not in told:
                progress.begin(cases[name])
            record = records[name] = worker.measure(cases[name])
            if name not in told:
                progress.end(record)
                told.add(name)
            if record.status in ENDED:
                raise _Broken(name, f"{record.status.value}: {record.reason}")
            if worker.launches != process:
                raise _Broken
    return records


def _values(name: str, record: Record) -> tuple[dict[str, float], str]:
    """Logs of the medians of a record, by figure, and what is wrong with those that are missing."""
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
