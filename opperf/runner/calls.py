"""Measures a user's calls in the user's own process, which holds the callables and arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

from opperf.dtypes import canonical
from opperf.errors import UsageError
from opperf.frameworks import Framework
from opperf.model import Case, Record, Settings, Status
from opperf.profilers import find_profilers
from opperf.results.opperf_json import result_of
from opperf.runner.measure import measure
from opperf.runner.memory_meters import PristineMeter
from opperf.sources.bound import NOTHING_BOUND, Bound
from opperf.sources.call import UserCall
from opperf.sources.choices import parse_device
from opperf.sources.registry import check_settings
from opperf.sources.selecting import Selection

Results = dict[str, list[dict[str, Any]]]

Function = Callable[..., Any]
Inputs = Mapping[str, Any]


def device_name(device: Any, framework: Framework) -> str:
    """Returns the canonical name of a device, which may be a name, a framework's own object, or
    None for the default device."""
    return framework.devices()[0] if device is None else parse_device(framework, str(device))


def call_settings(
    framework: Framework, device: Any, dtype: Any, profiler: str | None, warmup: int, runs: int
) -> Settings:
    """Returns the settings of a call; without a profiler, with the framework's preferred one.

    Raises `UsageError` for values that cannot be used.
    """
    check_type("warmup", warmup, Integral, "a number of calls")
    check_type("runs", runs, Integral, "a number of calls")
    if profiler is not None:
        check_type("profiler", profiler, str, "a name")
    if warmup < 0 or runs < 1:
        raise UsageError(f"warmup is at least 0 and runs at least 1, not {warmup} and {runs}")
    settings = Settings(
        device=device_name(device, framework),
        dtype=canonical(getattr(dtype, "__name__", str(dtype))),
        profiler=next(iter(find_profilers(framework))) if profiler is None else profiler.lower(),
        warmup=warmup,
        runs=runs,
    )
    check_settings(framework, Selection(settings=settings))
    return settings


def check_type(name: str, value: object, kind: type, description: str) -> None:
    """Raises `UsageError` for an argument of another type."""
    if not isinstance(value, kind):
        raise UsageError(f"{name} is {description}, not {value!r}")


def measure_here(case: Case, framework: Framework, bound: Bound = NOTHING_BOUND) -> Record:
    """Measures a case in this process, and its memory in a pristine one if possible."""
    return measure(case, framework, bound, memory=PristineMeter(bound))


def measure_calls(
    framework: Framework,
    functions: Function | Sequence[Function],
    inputs: Inputs | Iterable[Inputs],
    settings: Settings,
    backward: bool,
) -> list[Results]:
    """Measures one or several callables on each of the inputs; returns for each callable
    `{name: [result, ...]}`, with a result for each of the inputs.

    Raises `UsageError`, before anything is measured, for an object that is not callable and for
    inputs that make no case.
    """
    check_type("inputs", inputs, Iterable, "a list of dicts")
    listed = [inputs] if isinstance(inputs, Mapping) else list(inputs)
    calls = [
        _call(framework, function, listed, settings, backward)
        for function in (functions if isinstance(functions, (list, tuple)) else [functions])
    ]
    planned = [(call, list(call.cases())) for call in calls]
    for call in calls:
        for excluded, reason in call.excluded.items():
            raise UsageError(f"{excluded}: {reason}")
    return [
        {
            call.target.label: [
                display_result(measure_here(case, framework, call.bound), one)
                for case, one in zip(cases, listed, strict=True)
            ]
        }
        for call, cases in planned
    ]


def _call(
    framework: Framework, function: Any, inputs: list[Inputs], settings: Settings, backward: bool
) -> UserCall:
    if not callable(function):
        raise UsageError(f"{function!r} is not callable; pass the function itself")
    return UserCall(framework, function, inputs, settings, backward)


def display_result(record: Record, inputs: Inputs | None = None) -> dict[str, Any]:
    """Returns a record's result; without numbers, its status and reason."""
    if record.status is Status.OK:
        return result_of(record, inputs)
    shown = {"inputs": inputs} if inputs is not None else {}
    return {**shown, "status": record.status.value, "reason": record.reason}
