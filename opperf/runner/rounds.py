"""Visiting the cases of a run several times, so that a drift of the machine falls on all of them.

A record of a case that was visited before has the samples of all visits so far, and takes the
earlier one's place in the run file: whatever a run is cut short at is in it.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterable, Mapping
from statistics import fmean

import msgspec

from opperf.metrics import PASSES
from opperf.model import Case, Note, NoteCode, Record, Status
from opperf.sources.varying import group_by_process


def plan_visits(
    cases: Iterable[Case],
    rounds: int,
    seed: int,
    earlier: Mapping[str, Record] | None = None,
    retry: Container[Status] = (),
) -> tuple[Case, ...]:
    """The cases in the order they are visited, each `rounds` times less what it was visited
    already, those that one process can measure together. Of several rounds each has a random order
    of its own, by the seed.

    A case that did not end ok is not visited again, unless its status is one to `retry`.
    """
    listed = list(cases)
    done = {case.id: _done((earlier or {}).get(case.id), rounds, retry) for case in listed}
    found: list[Case] = []
    for number in range(rounds):
        order = list(listed)
        if rounds > 1:
            random.Random(f"{seed} {number}").shuffle(order)
        todo = (_again(case, number) for case in order if done[case.id] <= number)
        found += group_by_process(todo)
    return tuple(found)


def _done(record: Record | None, rounds: int, retry: Container[Status]) -> int:
    if record is None or record.status in retry:
        return 0
    return record.rounds if record.status is Status.OK else rounds


def _again(case: Case, number: int) -> Case:
    """The case as it is measured in a round: peaks of memory do not scatter, once is enough."""
    if number == 0 or not case.settings.memory:
        return case
    settings = msgspec.structs.replace(case.settings, memory=False)
    return msgspec.structs.replace(case, settings=settings)


def merge(earlier: Record | None, later: Record) -> Record:
    """One record of a case's visits so far, and of another one."""
    if earlier is None or earlier.status is not Status.OK:
        return later
    # They load NumPy, which a manager of one round has no use for.
    from opperf.profilers.noise import noise
    from opperf.profilers.summary import summarise

    visited = earlier.rounds + 1
    if later.status is not Status.OK:
        message = f"round {visited} {later.status.value}: {later.reason}"
        failed = Note("", NoteCode.ROUND_FAILED, message)
        return msgspec.structs.replace(earlier, rounds=visited, notes=(*earlier.notes, failed))
    samples = {
        metric: [*earlier.samples.get(metric, []), *more] for metric, more in later.samples.items()
    }
    summaries = dict(earlier.summaries)
    # Noise is judged anew over all samples. Of other notes the earlier wording stands: rounds that
    # find the same, with other figures, have one note on it.
    known = {(one.metric, one.code) for one in earlier.notes}
    more_notes = (one for one in later.notes if (one.metric, one.code) not in known)
    notes = [one for one in (*earlier.notes, *more_notes) if one.code != NoteCode.NOISY]
    for metric, every in samples.items():
        parts = [r.summaries[metric].loops for r in (earlier, later) if metric in r.summaries]
        summaries[metric] = summarise(every, later.summaries[metric].unit, round(fmean(parts)))
        odd = noise(every, earlier.case.settings.precision)
        if odd and metric in PASSES:
            notes.append(Note(metric, NoteCode.NOISY, odd))
    return msgspec.structs.replace(
        earlier,
        samples={**earlier.samples, **samples},
        summaries=summaries,
        notes=tuple(notes),
        wall_s=earlier.wall_s + later.wall_s,
        busy_s=earlier.busy_s + later.busy_s,
        rounds=visited,
    )
