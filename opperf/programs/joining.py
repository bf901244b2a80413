"""The record of a program on several nodes, from those of its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

import msgspec

from opperf.errors import one_line
from opperf.instruments.profilers.summary import summarise
from opperf.instruments.program_metrics import (
    CPU_LOAD,
    DISK_READ,
    DISK_WRITE,
    ENERGY,
    ENERGY_PER_ITEM,
    FIRST_STEP,
    GPU_CLOCK,
    GPU_LOAD,
    GPU_MEMORY,
    GPU_POWER,
    GPU_TEMPERATURE,
    LOSS,
    NET_RECEIVED,
    NET_SENT,
    PROGRAM_MEMORY,
    PROGRESS,
    RATE,
)
from opperf.model import Case, Note, NoteCode, Record, Status

Figures = Sequence[Sequence[float]]
"""Samples of a metric of each part."""


def _each(joined: Callable[[Sequence[float]], float]) -> Callable[[Figures], list[float]]:
    """Returns a function that joins the first samples, the second ones and so on."""
    return lambda parts: [joined(found) for found in zip(*parts, strict=False)]


JOINS: dict[str, Callable[[Figures], list[float]]] = {
    **dict.fromkeys(
        (
            *(RATE.name, PROGRAM_MEMORY.name, GPU_MEMORY.name, ENERGY.name, GPU_POWER.name),
            *(DISK_READ.name, DISK_WRITE.name, NET_SENT.name, NET_RECEIVED.name),
        ),
        _each(sum),
    ),
    **dict.fromkeys((PROGRESS.name, CPU_LOAD.name, GPU_LOAD.name), _each(fmean)),
    **dict.fromkeys((FIRST_STEP.name, GPU_TEMPERATURE.name), _each(max)),
    GPU_CLOCK.name: _each(min),
    # All ranks print the same one, or only the first does.
    LOSS.name: lambda parts: [*parts[0]],
}
"""How the samples of a metric are joined; that of energy per item needs the rates besides."""

OF_STEPS = (RATE.name, FIRST_STEP.name, LOSS.name, PROGRESS.name)
"""Metrics of observations, which often only the first of several ranks makes."""


def has_failed(part: Record) -> bool:
    """Whether a part has failed, rather than made no observation: of several ranks, often only the
    first one makes any."""
    if part.status is Status.OK:
        return False
    return not part.processes or any(each.status is not Status.OK for each in part.processes)


def join_parts(case: Case, parts: Sequence[Record], culprit: Record | None) -> Record:
    """Returns the record of a program from those of its nodes, in the order of their ranks; its
    rate is that of all. `culprit` is the part that failed first."""
    observing = [part for part in parts if part.status is Status.OK]
    status, reason = Status.OK, ""
    if culprit is not None:
        status, reason = culprit.status, culprit.reason
    elif not observing:
        status, reason = Status.FAILED, parts[0].reason
    # What ran beside those that observe has used the machine too.
    running = [part for part in parts if not has_failed(part)]
    samples = joined_samples(running) if status is Status.OK else {}
    units = {name: found.unit for part in running for name, found in part.summaries.items()}
    before = [part.warmup.get(RATE.name, []) for part in observing]
    return Record(
        case=case,
        id=case.id,
        status=status,
        reason=one_line(reason),
        summaries={name: summarise(values, units[name]) for name, values in samples.items()},
        samples=samples,
        warmup={RATE.name: _each(sum)(list(filter(None, before)))},
        notes=(*_notes(parts), *_missing(parts, samples)),
        processes=tuple(process for part in parts for process in part.processes),
        wall_s=max((part.wall_s for part in parts), default=0.0),
    )


def joined_samples(parts: Sequence[Record]) -> dict[str, list[float]]:
    """Returns the samples of all parts together, by metric."""
    found: dict[str, list[float]] = {}
    for name, join in JOINS.items():
        have = [part.samples[name] for part in parts if part.samples.get(name)]
        if have:
            found[name] = join(have)
    energy = [part for part in parts if part.samples.get(ENERGY_PER_ITEM.name)]
    if energy:
        # Watts of a part that observes are its energy per item times its rate.
        power = sum(part.samples[ENERGY_PER_ITEM.name][0] * _rate(part.samples) for part in energy)
        rates = [_rate(part.samples) for part in parts if part.samples.get(RATE.name)]
        others = [part.samples for part in parts if not part.samples.get(RATE.name)]
        power += sum(fmean(each[GPU_POWER.name]) for each in others if each.get(GPU_POWER.name))
        found[ENERGY_PER_ITEM.name] = [power / sum(rates)]
    return found


def _rate(samples: Mapping[str, Sequence[float]]) -> float:
    return fmean(samples[RATE.name])


def _notes(parts: Sequence[Record]) -> tuple[Note, ...]:
    """Returns the notes of the parts, each with the node that it is of."""
    return tuple(
        msgspec.structs.replace(note, message=f"node {part.node or rank}: {note.message}")
        for rank, part in enumerate(parts)
        for note in part.notes
    )


def _missing(parts: Sequence[Record], samples: Mapping[str, Sequence[float]]) -> Iterator[Note]:
    """Yields which nodes each joined metric of the machines lacks."""
    for name in sorted(samples):
        lacking = [
            part.node or str(rank)
            for rank, part in enumerate(parts)
            if name in JOINS and name not in OF_STEPS and not part.samples.get(name)
        ]
        if lacking:
            nodes = f"{'node' if len(lacking) == 1 else 'nodes'} {', '.join(lacking)}"
            message = f"{name} without {nodes}, which sent no samples of it"
            yield Note(name, NoteCode.INCOMPLETE, message)
