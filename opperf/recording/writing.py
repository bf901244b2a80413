"""Writes a recording: a run file, whose cases a run measures again."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from opperf.dtypes import kind_of
from opperf.errors import OpperfError
from opperf.execution.run_header import utc_now
from opperf.execution.workers import Workers
from opperf.frameworks.calls import Calls, Range, RecordedCall
from opperf.instruments.profilers.summary import summarise
from opperf.instruments.times import RECORDED
from opperf.model import (
    SCHEMA_VERSION,
    Argument,
    Case,
    Chain,
    Environment,
    Fill,
    Header,
    Program,
    Settings,
    Summary,
    TensorSpec,
    map_tensors,
)
from opperf.plurals import pluralize
from opperf.recording.chains import as_written
from opperf.results.kept import new_id
from opperf.results.recordings import write_recording
from opperf.sources.base import call_dtype
from opperf.sources.completing import merge
from opperf.sources.resolving import OWN_DEFAULT
from opperf.sources.varying import with_settings
from opperf.worker.client import Worker


def summarise_steps(times_ns: Sequence[int]) -> Summary | None:
    """Returns the summary of the times of steps; None without any."""
    return summarise(list(map(float, times_ns)), RECORDED.unit) if times_ns else None


def write(
    program: Program, used: Mapping[str, Calls], file: Path, overwrite: bool
) -> tuple[Sequence[Case], Sequence[str]]:
    """Writes a recording as a run file, in which the times of calls are records. Returns its cases,
    in the order of their first calls, and sentences on what a reader must know. Cases that no
    worker process can complete are as they were called, without contents that suit the operator;
    the last sentences say why. `used` are the calls by framework.

    Raises `OutputError` if it cannot be written.
    """
    cases: list[Case] = []
    chains: list[Chain] = []
    environments: dict[str, Environment] = {}
    excluded: dict[str, str] = {}
    notes = list(program.notes)
    with Workers() as workers:
        for framework, calls in used.items():
            excluded |= calls.refused
            found = calls.recorded()
            listed: list[RecordedCall] = []
            before = len(cases)
            for imports in dict.fromkeys(call.case.settings.imports for call in found):
                worker = workers.of(framework, Settings(imports=imports))
                own = [call for call in found if call.case.settings.imports == imports]
                listed += own
                try:
                    environments[framework] = worker.environment()
                    cases += _complete(worker, own)
                except OpperfError as error:
                    # The module may be that of a script that runs no second time.
                    notes.append(f"{pluralize(len(own), 'case')} could not be completed: {error}")
                    cases += map(_as_case, own)
            known = {id(call): case for call, case in zip(listed, cases[before:], strict=True)}
            chains += (as_written(chain, known) for chain in calls.chains)
    cases = merge(cases)
    header = Header(
        schema=SCHEMA_VERSION,
        started=utc_now(),
        options={"command": f"opperf record {program.command}"},
        excluded=excluded,
        id=new_id(),
        program=msgspec.structs.replace(program, notes=tuple(notes), chains=tuple(chains)),
    )
    write_recording(file, header, cases, overwrite, environments)
    return cases, notes


def _complete(worker: Worker, calls: Sequence[RecordedCall]) -> list[Case]:
    cases = []
    axes = worker.resolve({}).axes
    own = {name: axes[name][0] for name in OWN_DEFAULT}
    for call, completed in zip(
        calls, worker.complete([_as_case(call) for call in calls]), strict=True
    ):
        case = with_ranges(completed.case, call.ranges)
        case = msgspec.structs.replace(case, arguments={**case.arguments, **call.further})
        device = case.settings.device or own["device"]
        settings = {"profiler": own["profiler"], "mode": own["mode"], "device": device}
        cases.append(with_settings(case, settings))
    return cases


def _as_case(call: RecordedCall) -> Case:
    case = call.case
    sites = call.call_sites()
    first = sites[0] if sites else None
    place = f"{first.file}:{first.line}" if first is not None and first.file else ""
    settings = msgspec.structs.replace(case.settings, dtype=call_dtype(case.arguments.values()))
    return msgspec.structs.replace(
        case,
        settings=settings,
        origin=place,
        why=f"{pluralize(call.count, 'call')} of the program",
        count=call.count,
        sites=sites,
        recorded=tuple(call.times),
    )


UNKNOWN = (Fill(), Fill("integers", 0.0, 1000.0), Fill("boolean"))
"""Fills of integers of which the operator's rule knows nothing."""


def with_ranges(case: Case, ranges: Mapping[int, Range]) -> Case:
    """Returns a case whose tensors of integers are in the recorded range, where they index nothing
    that bounds them. The ranges are by the tensor's position in the call."""
    places = itertools.count()

    def bounded(spec: TensorSpec) -> TensorSpec:
        found = ranges.get(next(places))
        is_whole = kind_of(spec.dtype) == "integer"
        if found is None or not is_whole or spec.fill not in UNKNOWN:
            return spec
        low, high = found
        fill = Fill("integers", float(low), float(high + 1))
        return msgspec.structs.replace(spec, fill=fill)

    arguments: dict[str, Argument] = {
        name: map_tensors(value, bounded) for name, value in case.arguments.items()
    }
    return msgspec.structs.replace(case, arguments=arguments)
