"""Merges records of one case, of several rounds or processes, into one that has all samples."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from statistics import fmean

import msgspec

from opperf.model import NOISE, PASSES, GpuState, Note, NoteCode, Record, Run, Status, Waits


def pool(run: Run) -> Run:
    """Returns a session with one record of each case, of all its processes; a run as it is."""
    if not run.header.session:
        return run
    found: dict[str, list[Record]] = {}
    for record in run.records:
        found.setdefault(record.id, []).append(record)
    records = tuple(_of_processes(own) for own in found.values())
    return msgspec.structs.replace(run, records=records)


def _of_processes(records: Sequence[Record]) -> Record:
    # One process that failed hides no figures of the others.
    first, *others = sorted(records, key=lambda record: record.status is not Status.OK)
    merged = merge(first, others, "process") if others else first
    return msgspec.structs.replace(merged, place=None)


def merge(first: Record, later: Sequence[Record], each: str = "round") -> Record:
    """Merges the record of a case with later ones. `each` names what has a record, in notes. One
    that did not end ok is replaced by the next."""
    while later and first.status is not Status.OK:
        first, later = later[0], later[1:]
    if not later:
        return first
    # These import NumPy, which the manager of a single round does not need.
    from opperf.instruments.profilers.noise import noise_notes
    from opperf.instruments.profilers.summary import summarise
    from opperf.instruments.profilers.waits import busy_note

    failed = [
        Note("", NoteCode.ROUND_FAILED, f"{each} {number} {record.status.value}: {record.reason}")
        for number, record in enumerate(later, first.rounds + 1)
        if record.status is not Status.OK
    ]
    merged = [first, *(record for record in later if record.status is Status.OK)]
    samples = _joined(record.samples for record in merged)
    summaries = dict(first.summaries)
    waits: dict[str, Waits] = {}
    # Noise and waits are computed again from all. Other notes are kept once, as first worded: they
    # are repeated with other figures.
    again = (*NOISE, NoteCode.BUSY)
    notes = [note for note in first.notes if note.code not in again]
    for record in merged:
        known = {*again, *((note.metric, note.code) for note in notes)}
        if record is not first:
            notes += [n for n in record.notes if not {n.code, (n.metric, n.code)} & known]
        for metric, counted in record.waits.items():
            waits[metric] = waits[metric].merge(counted) if metric in waits else counted
    for metric in dict.fromkeys(name for record in merged[1:] for name in record.samples):
        parts = [record.summaries[metric] for record in merged if metric in record.summaries]
        loops = round(fmean(part.loops for part in parts))
        summaries[metric] = summarise(samples[metric], parts[-1].unit, loops)
        if metric in PASSES:
            notes += noise_notes(metric, samples[metric], first.case.settings.precision)
            busy = busy_note(metric, waits[metric]) if metric in waits else None
            notes += [busy] if busy else []
    states = [record.gpu for record in merged if record.gpu is not None]
    return msgspec.structs.replace(
        first,
        samples=samples,
        warmup=_joined(record.warmup for record in merged),
        summaries=summaries,
        notes=(*notes, *failed),
        waits=waits,
        wall_s=sum(record.wall_s for record in merged),
        busy_s=sum(record.busy_s for record in merged),
        gpu=functools.reduce(GpuState.merge, states) if states else None,
        rounds=first.rounds + len(later),
    )


def _joined(parts: Iterable[dict[str, list[float]]]) -> dict[str, list[float]]:
    joined: dict[str, list[float]] = {}
    for part in parts:
        for name, values in part.items():
            joined.setdefault(name, []).extend(values)
    return joined
