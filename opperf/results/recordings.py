"""Recordings: run files of the calls of a program."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from opperf.instruments.recorded import RECORDED
from opperf.model import Environment, Program, Record, Run


def program_of(run: Run) -> Program | None:
    """Returns the program whose calls are the cases of a run, with the number of the calls and the
    machine that the file itself has, where it is the recording."""
    program = run.header.program
    if program is None or not all(is_recorded(record) for record in run.records):
        return program
    machines = map(machine_of, run.environments.values())
    return msgspec.structs.replace(
        program,
        calls=program.calls or sum(case.count for case in run.cases),
        machine=program.machine or ", ".join(dict.fromkeys(machines)),
    )


def is_recorded(record: Record) -> bool:
    """Returns whether a record has nothing but the times of recorded calls."""
    return record.summaries.keys() == {RECORDED.name}


def machine_of(environment: Environment) -> str:
    """Returns the name of a machine and its processor, the GPU if it has one."""
    models = (gpu.get("model", "") for gpu in environment.gpus)
    processor = next(filter(None, models), environment.cpu)
    return ", ".join(filter(None, (environment.hostname, processor)))


def machines_of(run: Run, records: Iterable[Record]) -> tuple[str, ...]:
    """Returns the machines that measured some records of a run."""
    ids = dict.fromkeys(record.environment for record in records)
    found = (run.environments[id] for id in ids if id in run.environments)
    return tuple(dict.fromkeys(map(machine_of, found)))
