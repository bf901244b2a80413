"""Measures a configuration in the caller's own process, which has what it registered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from opperf.api.calls import (
    call_settings,
    check_new_file,
    measure_cases,
    measure_to_file,
)
from opperf.defaults import RUNS, WARMUP
from opperf.errors import UsageError
from opperf.execution.executor import InProcess
from opperf.frameworks import load as load_framework
from opperf.model import Record
from opperf.sources.completing import complete, distinguish
from opperf.sources.param.configuration import Configuration
from opperf.sources.varying import disambiguate, with_settings

OWN = ("device", "profiler", "mode", "warmup", "runs")
"""Settings that a configuration does not have."""


def measure(
    configuration: Configuration,
    device: Any = None,
    warmup: int = WARMUP,
    runs: int = RUNS,
    backward: bool = True,
    save: str | Path | None = None,
) -> tuple[Record, ...]:
    """Measures the cases of a configuration in this process, and returns their records, those of a
    framework together. With `save`, each is written to this run file as it is made.

    `device` is the frameworks' default one if None; `warmup` calls are made before `runs` timed
    ones. Raises `UsageError`, before anything is measured, if no case can be called, and
    `OutputError` for a file that exists or cannot be written.
    """
    path = None if save is None else Path(save)
    if path is not None:
        check_new_file(path)
    names = dict.fromkeys(case.target.framework for case in configuration.cases())
    executor = InProcess({name: load_framework(name) for name in names})
    settings = {
        name: call_settings(framework, device, "float32", None, warmup, runs)
        for name, framework in executor.frameworks.items()
    }
    completed = [
        call
        for name, framework in executor.frameworks.items()
        for call in complete(
            framework, [case for case in configuration.cases() if case.target.framework == name]
        )
    ]
    if all(call.refusal for call in completed):
        for call in completed[:1]:
            raise UsageError(f"{call.case.origin}: {call.refusal}")
    cases = disambiguate(
        with_settings(
            case if backward else msgspec.structs.replace(case, passes=("forward",)),
            {name: getattr(settings[case.target.framework], name) for name in OWN},
        )
        for case in distinguish(call.case for call in completed)
    )
    if path is None:
        records = measure_cases(cases, executor)
    else:
        records = measure_to_file(path, cases, executor, next(iter(settings.values())))
    return tuple(records[case.id] for case in cases)
