"""Recordings: run files of the calls of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from opperf.instruments.profilers.summary import summarise
from opperf.instruments.times import RECORDED
from opperf.model import Case, Closing, Environment, Header, Program, Record, Run, Status
from opperf.results.runfile import RunWriter


def program_of(run: Run) -> Program | None:
    """Returns the program whose calls are the cases of a run, with the number of the calls and the
    machine that the file itself has, where it is the recording."""
    program = run.header.program
    if program is None or not all(is_recorded(record) for record in run.records):
        return program
    machines = map(_machine_of, run.environments.values())
    return msgspec.structs.replace(
        program,
        calls=program.calls or sum(case.count for case in run.cases),
        machine=program.machine or ", ".join(dict.fromkeys(machines)),
    )


def is_recorded(record: Record) -> bool:
    """Returns whether a record has nothing but the times of recorded calls."""
    return record.summaries.keys() == {RECORDED.name}


def _machine_of(environment: Environment) -> str:
    """Returns the name of a machine and its processor, the GPU if it has one."""
    models = (gpu.get("model", "") for gpu in environment.gpus)
    processor = next(filter(None, models), environment.cpu)
    return ", ".join(filter(None, (environment.hostname, processor)))


def machines_of(run: Run, records: Iterable[Record]) -> tuple[str, ...]:
    """Returns the machines that measured some records of a run."""
    ids = dict.fromkeys(record.environment for record in records)
    found = (run.environments[id] for id in ids if id in run.environments)
    return tuple(dict.fromkeys(map(_machine_of, found)))


def write_recording(
    file: Path,
    header: Header,
    cases: Sequence[Case],
    overwrite: bool,
    environments: Mapping[str, Environment] = {},
) -> None:
    """Writes a recording: its cases, and records of those whose calls were timed, in the
    environment of their framework.

    Raises `OutputError` if it exists and may not be replaced, or cannot be written.
    """
    timed = [case for case in cases if case.recorded]
    counts = {Status.OK.value: len(timed)} if timed else {}
    with RunWriter.create(file, header, cases, overwrite, environments.values()) as writer:
        for case in timed:
            writer.record(_record(case, environments.get(case.target.framework)))
        finished = datetime.now(timezone.utc).isoformat(timespec="seconds")
        writer.close_run(Closing(finished, 0.0, counts))


def _record(case: Case, environment: Environment | None) -> Record:
    """Returns the record of the times of a case's calls."""
    times = list(map(float, case.recorded))
    return Record(
        case=case,
        id=case.id,
        status=Status.OK,
        summaries={RECORDED.name: summarise(times, RECORDED.unit)},
        samples={RECORDED.name: times},
        environment="" if environment is None else environment.id,
    )
