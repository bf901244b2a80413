"""Measures a program: runs its processes side by side until they have made the observations that
are wanted, without changing them. The record of a program on several nodes, from those of its
parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import msgspec

from opperf.errors import OpperfError, UnsupportedError, one_line
from opperf.instruments.profilers.sampling import WARM_CALLS
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
from opperf.machine.kernel import usable_cpus
from opperf.model import Case, Metric, Note, NoteCode, ProcessResult, Record, ScriptTarget, Status
from opperf.plurals import pluralize
from opperf.programs.group import Group
from opperf.programs.launching import ALONE, Place, parse_part, plan_processes, plan_server
from opperf.programs.process import ProgramProcess
from opperf.programs.samples import Sampler

NS_PER_S = 1e9

MOST_LOSSES = 10_000
"""Losses that a record keeps; the stream has all."""


def without_observations(case: Case, status: Status, reason: str) -> Record:
    """Returns the record of a program that was not run."""
    return Record(case=case, id=case.id, status=status, reason=one_line(reason))


def make_record(
    case: Case,
    processes: Sequence[ProgramProcess],
    culprit: ProgramProcess | None,
    sampler: Sampler | None,
) -> Record:
    """Returns the record of a program, whose rate is that of all its processes. Without a rate
    after the warm-up it has failed. `culprit` is the process that failed first."""
    assert isinstance(case.target, ScriptTarget)
    status, reason = Status.OK, ""
    if culprit is not None and culprit.status is not None:
        status, reason = culprit.status, _named(culprit, processes)
    elif not any(process.observations.counted for process in processes):
        status, reason = Status.FAILED, _why_no_rate(processes)
    figures: list[tuple[Metric, list[float]]] = []
    if status is Status.OK:
        figures = _figures(processes, sampler)
    elif culprit is None and sampler is not None and case.target.nodes > 1:
        # The node's share in the figures of a program that other nodes observe.
        figures = sampler.metrics(_peak_of(processes))
    observing = (p.observations for p in processes if p.observations.rates)
    unit = next((observations.unit for observations in observing), "") or RATE.unit
    notes = _notes(case, processes, _by_name(figures).get(RATE.name, []), unit)
    return Record(
        case=case,
        id=case.id,
        status=status,
        reason=one_line(reason),
        summaries={
            metric.name: summarise(values, unit if metric is RATE else metric.unit)
            for metric, values in figures
        },
        samples=_by_name(figures),
        warmup={RATE.name: _summed([process.observations.before for process in processes])},
        notes=tuple(notes),
        processes=tuple(_result(process) for process in processes),
    )


def _by_name(figures: Sequence[tuple[Metric, list[float]]]) -> dict[str, list[float]]:
    return {metric.name: values for metric, values in figures}


def _figures(
    processes: Sequence[ProgramProcess], sampler: Sampler | None
) -> list[tuple[Metric, list[float]]]:
    counted = [process.observations.counted for process in processes]
    rates = _summed(counted)
    observing = [process for process in processes if process.observations.counted]
    first = [
        (process.first_at - process.started_at) * NS_PER_S
        for process in observing
        if process.first_at is not None
    ]
    wanted = sum(process.wanted for process in observing)
    losses = next((p.observations.losses for p in processes if p.observations.losses), [])
    found = [
        (RATE, rates),
        # The program's first step is made when its last process has made it.
        (FIRST_STEP, [max(first)] if first else []),
        (LOSS, losses[:MOST_LOSSES]),
        (PROGRESS, [sum(map(len, counted)) / wanted] if wanted else []),
    ]
    if sampler is not None:
        found += sampler.metrics(_peak_of(processes))
        begin = min(process.counted_from or 0.0 for process in observing)
        end = max(process.counted_to or sampler.samples[-1].at for process in observing)
        found.append(sampler.energy_per_item(begin, end, sum(rates) / len(rates)))
    return [(metric, values) for metric, values in found if values]


def _peak_of(processes: Sequence[ProgramProcess]) -> int:
    return sum(process.peak_bytes for process in processes)


def _named(culprit: ProgramProcess, processes: Sequence[ProgramProcess]) -> str:
    return f"process {culprit.plan.name}: {culprit.reason}" if processes[1:] else culprit.reason


def _why_no_rate(processes: Sequence[ProgramProcess]) -> str:
    most = max(len(process.observations.rates) for process in processes)
    if most:
        return (
            f"made {pluralize(most, 'observation')}, all of them warm-up, which ends after "
            f"{2 * WARM_CALLS} or more; let it run longer, or set --warmup"
        )
    messages = dict.fromkeys(text for process in processes for text in process.messages)
    unusable = sum(process.observations.unusable for process in processes)
    if unusable:
        messages[f"{pluralize(unusable, 'rate')} of it cannot be used"] = None
    return "; ".join(("made no observation", *messages))


def _notes(
    case: Case, processes: Sequence[ProgramProcess], rates: Sequence[float], unit: str
) -> list[Note]:
    # With NumPy, which no command loads before it has measured.
    from opperf.instruments.profilers.noise import noise_notes

    notes = noise_notes(RATE.name, rates, case.settings.precision, unit)
    for process in processes:
        count, wanted = len(process.observations.counted), process.wanted
        if 0 < count < wanted:
            text = f"process {process.plan.name} made {count} of {wanted} observations"
            notes.append(Note(RATE.name, NoteCode.INCOMPLETE, text))
        if process.writer.lost:
            text = (
                f"the stream of process {process.plan.name} lacks "
                f"{pluralize(process.writer.lost, 'event')}: {process.writer.error}"
            )
            notes.append(Note("", NoteCode.INCOMPLETE, text))
    return notes


def _result(process: ProgramProcess) -> ProcessResult:
    observations, path = process.observations, process.writer.path
    counted = observations.counted
    return ProcessResult(
        name=process.plan.name,
        rank=process.plan.rank,
        node=process.plan.node,
        device=process.plan.device,
        status=process.status or Status.FAILED,
        reason=one_line(process.reason),
        exit_code=process.exit_code,
        stopped=process.is_stopped,
        rate=summarise(counted, observations.unit) if counted else None,
        warmup=len(observations.before),
        losses=tuple(observations.losses[:MOST_LOSSES]),
        stream="" if path is None else path.name,
    )


Figures = Sequence[Sequence[float]]
"""Samples of a metric of each part."""


def _each(joined: Callable[[Sequence[float]], float]) -> Callable[[Figures], list[float]]:
    """Returns a function that joins the first samples, the second ones and so on."""
    return lambda parts: [joined(found) for found in zip(*parts, strict=False)]


def _summed(rates: Figures) -> list[float]:
    """Sums as far as all that have any rates have them."""
    return _each(sum)(list(filter(None, rates)))


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
        warmup={RATE.name: _summed(before)},
        notes=(*_notes_of_parts(parts), *_missing(parts, samples)),
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


def _notes_of_parts(parts: Sequence[Record]) -> tuple[Note, ...]:
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


class Programs:
    """Measures programs, one at a time. `kill` ends what runs, from any thread."""

    def __init__(self) -> None:
        self.running: Group | None = None
        """The program that runs, of which any thread may ask the progress, or call a method."""
        self._killed = False

    def kill(self) -> None:
        """Ends the program that runs, and lets no other one start."""
        self._killed = True
        running = self.running
        if running is not None:
            running.kill()

    def measure(
        self,
        case: Case,
        streams: Path | None = None,
        python: str = "",
        cpus: frozenset[int] = frozenset(),
        place: Place = ALONE,
    ) -> Record:
        """Returns the record of a case whose target is a `ScriptTarget`; whatever its program does
        is its status. `streams` is the folder of the streams, `python` the interpreter, opperf's
        own if it is empty, and `cpus` are the cores of the program, all usable ones if there are
        none. `place` is that of this node among several."""
        begun = time.monotonic()
        target = case.target
        assert isinstance(target, ScriptTarget)
        try:
            parts = [parse_part(text) for text in target.observe]
            server = plan_server(target, case.settings, place, python)
            plans = plan_processes(target, case.settings, place, cpus or usable_cpus(), server)
            if not Path(target.script).is_file():
                raise OpperfError(f"{target.script}: no such script")
            with Group(case, parts, plans, streams, python, place.held, server) as group:
                self.running = group
                if self._killed:
                    group.kill()
                group.run()
            record = make_record(case, group.processes, group.culprit, group.sampler)
        except UnsupportedError as error:
            record = without_observations(case, Status.SKIPPED, str(error))
        except OpperfError as error:
            record = without_observations(case, Status.FAILED, str(error))
        finally:
            self.running = None
        return msgspec.structs.replace(record, wall_s=time.monotonic() - begun)
