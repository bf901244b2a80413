"""Rounds: measures all cases several times, so that a drift of the machine affects all of them.

The record of a later round has the samples of all rounds so far and replaces the earlier one in the
run file, so that an interrupted run loses nothing.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Container, Iterable, Mapping
from statistics import fmean

import msgspec

from opperf.model import NOISE, PASSES, Case, GpuState, Note, NoteCode, Record, Status
from opperf.sources.varying import group_by_process


def plan_visits(
    cases: Iterable[Case],
    rounds: int,
    seed: int,
    earlier: Mapping[str, Record] | None = None,
    retry: Container[Status] = (),
) -> tuple[Case, ...]:
    """Returns the cases in the order of their measurement, each once for every round that it still
    needs. Cases of one process are together. Each of several rounds has a random order of its own,
    by the seed.

    A case that did not end ok is not measured again, unless its status is in `retry`.
    """
    listed = list(cases)
    done = {case.id: _rounds_done((earlier or {}).get(case.id), rounds, retry) for case in listed}
    found: list[Case] = []
    for number in range(rounds):
        order = list(listed)
        if rounds > 1:
            random.Random(f"{seed} {number}").shuffle(order)
        remaining = (_for_round(case, number) for case in order if done[case.id] <= number)
        found += group_by_process(remaining)
    return tuple(found)


def _rounds_done(record: Record | None, rounds: int, retry: Container[Status]) -> int:
    if record is None or record.status in retry:
        return 0
    return record.rounds if record.status is Status.OK else rounds


def _for_round(case: Case, number: int) -> Case:
    """Returns the case as measured in a round: the first round alone measures memory."""
    return case if number == 0 else without_memory(case)


def without_memory(case: Case) -> Case:
    """Returns the case without a measurement of its memory, which is the same each time."""
    settings = msgspec.structs.replace(case.settings, memory=False)
    return msgspec.structs.replace(case, settings=settings)


def merge(earlier: Record | None, later: Record) -> Record:
    """Merges the record of a case's rounds so far with that of another round."""
    if earlier is None or earlier.status is not Status.OK:
        return later
    # These import NumPy, which the manager of a single round does not need.
    from opperf.instruments.profilers.noise import noise_notes
    from opperf.instruments.profilers.summary import summarise
    from opperf.instruments.profilers.waits import busy_note

    rounds = earlier.rounds + 1
    if later.status is not Status.OK:
        message = f"round {rounds} {later.status.value}: {later.reason}"
        failed = Note("", NoteCode.ROUND_FAILED, message)
        return msgspec.structs.replace(earlier, rounds=rounds, notes=(*earlier.notes, failed))
    samples = {
        metric: [*earlier.samples.get(metric, []), *more] for metric, more in later.samples.items()
    }
    summaries = dict(earlier.summaries)
    # Noise and waits are computed again from all rounds. Other notes are kept once, as first
    # worded: rounds repeat them with other figures.
    known = {(note.metric, note.code) for note in earlier.notes}
    more_notes = (note for note in later.notes if (note.metric, note.code) not in known)
    again = (*NOISE, NoteCode.BUSY)
    notes = [note for note in (*earlier.notes, *more_notes) if note.code not in again]
    waits = {**later.waits, **earlier.waits}
    for metric in earlier.waits.keys() & later.waits.keys():
        waits[metric] = earlier.waits[metric].merge(later.waits[metric])
    for metric, every in samples.items():
        parts = [r.summaries[metric].loops for r in (earlier, later) if metric in r.summaries]
        summaries[metric] = summarise(every, later.summaries[metric].unit, round(fmean(parts)))
        if metric in PASSES:
            notes += noise_notes(metric, every, earlier.case.settings.precision)
            notes += filter(None, [busy_note(metric, waits[metric]) if metric in waits else None])
    states = [record.gpu for record in (earlier, later) if record.gpu is not None]
    return msgspec.structs.replace(
        earlier,
        samples={**earlier.samples, **samples},
        warmup=earlier.warmup
        | {
            metric: [*earlier.warmup.get(metric, []), *more]
            for metric, more in later.warmup.items()
        },
        summaries=summaries,
        notes=tuple(notes),
        waits=waits,
        wall_s=earlier.wall_s + later.wall_s,
        busy_s=earlier.busy_s + later.busy_s,
        gpu=functools.reduce(GpuState.merge, states) if states else None,
        rounds=rounds,
    )
