"""Measures a user's calls in the user's own process, which holds the callables and arrays."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from opperf.dtypes import canonical
from opperf.errors import OutputError, UsageError
from opperf.execution.execute import NoFile, Rounds, execute, execute_to_file
from opperf.execution.executor import Executor, InProcess
from opperf.execution.progress import Progress
from opperf.execution.run_header import make_header
from opperf.frameworks import Framework, available, is_available, package_of
from opperf.instruments.profilers import find_profilers
from opperf.model import Case, Record, Settings, Status
from opperf.results.opperf_json import result_of
from opperf.results.output import check_output
from opperf.rules.engine import rules_module
from opperf.sources.call import UserCall
from opperf.sources.choices import parse_device
from opperf.sources.given import is_array
from opperf.sources.registry import Plan
from opperf.sources.resolving import check_settings
from opperf.sources.selecting import Selection
from opperf.sources.varying import deduplicate, disambiguate

LOG = logging.getLogger("opperf")

Results = dict[str, list[dict[str, Any]]]

Function = Callable[..., Any]
Inputs = Mapping[str, Any]


def device_name(device: Any, framework: Framework) -> str:
    """Returns the canonical name of a device, a name or an object; None is the default."""
    return framework.devices()[0] if device is None else parse_device(framework, str(device))


def one_device(ctx: Any, device: Any) -> Any:
    """Returns a device that has two names. Raises `UsageError` if both are set."""
    if ctx is not None and device is not None:
        raise UsageError("ctx and device are two names of one argument; set one of them")
    return device if ctx is None else ctx


def call_settings(
    framework: Framework, device: Any, dtype: Any, profiler: str | None, warmup: int, runs: int
) -> Settings:
    """Returns the settings of a call; the framework's preferred profiler and its usual dtype by
    default. Raises `UsageError` for values that cannot be used."""
    check_type("warmup", warmup, Integral, "a number of calls")
    check_type("runs", runs, Integral, "a number of calls")
    if profiler is not None:
        check_type("profiler", profiler, str, "a name")
    if warmup < 0 or runs < 1:
        raise UsageError(f"warmup is at least 0 and runs at least 1, not {warmup} and {runs}")
    settings = Settings(
        device=device_name(device, framework),
        dtype=rules_module(framework.rules).DTYPE if dtype is None else dtype_name(dtype),
        profiler=next(iter(find_profilers(framework))) if profiler is None else profiler.lower(),
        mode=framework.modes.names[0],
        warmup=warmup,
        runs=runs,
    )
    check_settings(framework, Selection(settings=settings))
    return settings


def dtype_name(dtype: Any) -> str:
    """Returns the canonical name of a dtype, a name or a framework's own object; empty for None."""
    # PyTorch's has its module in its text.
    text = getattr(dtype, "__name__", str(dtype)).removeprefix("torch.")
    return "" if dtype is None else canonical(text)


def framework_of_call(
    functions: Function | Sequence[Function], inputs: Inputs | Iterable[Inputs], device: Any = None
) -> str:
    """Returns the name of the framework that a call's functions, or else its arrays, its device or
    the modules that the functions use belong to; or else of the only one that this process has
    imported, NumPy aside. Empty if there is none."""
    # One that cannot be imported owns nothing here.
    packages = {name: package_of(name) for name in available() if is_available(name)}
    loaded = {
        name: (package.name, *package.parts)
        for name, package in packages.items()
        if package is not None and package.name in sys.modules
    }
    called = list(functions) if isinstance(functions, (list, tuple)) else [functions]
    listed = [inputs] if isinstance(inputs, Mapping) else inputs
    passed = [
        value
        for inputs_of_one in (listed if isinstance(listed, Sequence) else ())
        for value in (inputs_of_one.values() if isinstance(inputs_of_one, Mapping) else ())
        # Every framework takes NumPy's arrays.
        if not isinstance(value, np.ndarray)
    ]
    found = _owner((*called, *passed, device), loaded)
    if found:
        return found
    # Functions of arrays of any framework use NumPy too.
    loaded.pop("numpy", None)
    only = next(iter(loaded)) if len(loaded) == 1 else ""
    return _owner((used for function in called for used in _used_by(function)), loaded) or only


def _owner(values: Iterable[Any], loaded: Mapping[str, tuple[str, ...]]) -> str:
    owners = (name for value in values for name, parts in loaded.items() if _is_of(value, parts))
    return next(owners, "")


def _used_by(function: Any) -> list[Any]:
    code = getattr(function, "__code__", None)
    known = getattr(function, "__globals__", {})
    return [known[name] for name in getattr(code, "co_names", ()) if name in known]


def _is_of(value: Any, packages: tuple[str, ...]) -> bool:
    kinds = type(value).__mro__ if not isinstance(value, type) else (value,)
    holder = getattr(value, "__self__", None)
    places = [value, *kinds, *([holder] if isinstance(holder, (type, ModuleType)) else [])]
    modules = (
        str(getattr(place, "__module__", "") or getattr(place, "__name__", "")) for place in places
    )
    return any(name.partition(".")[0] in packages for name in modules)


def check_type(name: str, value: object, kind: type | tuple[type, ...], description: str) -> None:
    """Raises `UsageError` for an argument of another type."""
    if not isinstance(value, kind):
        raise UsageError(f"{name} is {description}, not {value!r}")


def measure_calls(
    framework: Framework,
    functions: Function | Sequence[Function],
    inputs: Inputs | Iterable[Inputs],
    settings: Settings,
    backward: bool,
    save: Path | None = None,
    dtype: str = "",
) -> list[Results]:
    """Measures one or several callables on each of the inputs; returns for each callable
    `{name: [result, ...]}`, with a result for each of the inputs. With `save`, writes the records
    to this run file, each as it is made. `dtype` is that to which arrays are converted; empty to
    measure them as they are.

    Raises `UsageError`, before anything is measured, for an object that is not callable and for
    inputs that make no case, and `OutputError` for a file that cannot be written.
    """
    check_type("inputs", inputs, Iterable, "a list of dicts")
    listed = [inputs] if isinstance(inputs, Mapping) else list(inputs)
    called: Sequence[Any] = functions if isinstance(functions, (list, tuple)) else [functions]
    for function in called:
        if not callable(function):
            raise UsageError(f"{function!r} is not callable; pass the function itself")
    calls = [
        UserCall(framework, function, listed, settings, backward, dtype=dtype)
        for function in called
    ]
    planned = [(call, list(call.cases())) for call in calls]
    for call in calls:
        for excluded, reason in call.excluded.items():
            raise UsageError(f"{excluded}: {reason}")
        if call.left:
            arrays = ", ".join(f"{place} ({own})" for place, own in call.left.items())
            LOG.warning("dtype %s leaves as they are: %s, which are of another kind", dtype, arrays)
    found = _measure(framework, planned, settings, save)
    return [
        {
            call.target.label: [
                display_result(records[case.id], one)
                for case, one in zip(cases, listed, strict=True)
            ]
        }
        for (call, cases), records in zip(planned, found, strict=True)
    ]


def _measure(
    framework: Framework,
    planned: Sequence[tuple[UserCall, Sequence[Case]]],
    settings: Settings,
    save: Path | None,
) -> list[dict[str, Record]]:
    frameworks = {framework.name: framework}
    if save is None:
        return [
            measure_cases(cases, InProcess(frameworks, dict.fromkeys(_ids(cases), call.bound)))
            for call, cases in planned
        ]
    check_new_file(save)
    targets = [call.target for call, _ in planned]
    for target in targets:
        if targets.count(target) > 1:
            raise UsageError(
                f"several of the callables are {target.key.path}; to save their results, pass each "
                "once, and functions with names of their own"
            )
    bounds = {id: call.bound for call, cases in planned for id in _ids(cases)}
    cases = [case for _, listed in planned for case in listed]
    records = measure_to_file(save, cases, InProcess(frameworks, bounds), settings)
    return [records] * len(planned)


def _ids(cases: Iterable[Case]) -> list[str]:
    return [case.id for case in cases]


QUIET = Progress()


def measure_cases(
    cases: Iterable[Case], executor: Executor, progress: Progress = QUIET
) -> dict[str, Record]:
    """Returns the records of the cases by id, of equal ones once."""
    schedule = Rounds(disambiguate(deduplicate(cases)))
    execute(schedule, executor, NoFile(), progress)
    return schedule.records


def check_new_file(path: Path) -> None:
    """Raises `OutputError` for a file that exists or cannot be written."""
    if path.exists():
        raise OutputError(f"{path} exists; remove it, or save to another file")
    check_output(path, overwrite=False)


def measure_to_file(
    path: Path, cases: Iterable[Case], executor: Executor, settings: Settings
) -> dict[str, Record]:
    """Measures the cases, writes each record to a new run file as it is made, and returns them by
    id. `settings` are those of the file's header."""
    distinct = disambiguate(deduplicate(cases))
    header = make_header(Plan(cases=distinct, excluded={}), Selection(settings=settings), "")
    started = time.monotonic()
    run = execute_to_file(
        path, header, distinct, distinct, executor, Progress(), lambda: time.monotonic() - started
    )
    return {record.id: record for record in run.records}


def display_result(record: Record, inputs: Inputs | None = None) -> dict[str, Any]:
    """Returns a record's result; without numbers, its status and reason."""
    device = record.case.settings.device
    given = None if inputs is None else {name: _shown(inputs[name], device) for name in inputs}
    if record.status is Status.OK:
        return result_of(record, given)
    shown = {"inputs": given} if given is not None else {}
    return {**shown, "status": record.status.value, "reason": record.reason}


def _shown(value: Any, device: str) -> Any:
    """Returns a user's input as JSON can hold it; an array as MXNet's utility shows it,
    `<NDArray 3x4 @cpu(0)>`."""
    if is_array(value):
        return f"<{type(value).__name__} {'x'.join(map(str, value.shape))} @{device}>"
    if isinstance(value, Mapping):
        return {name: _shown(each, device) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        listed = [_shown(each, device) for each in value]
        return tuple(listed) if isinstance(value, tuple) else listed
    if isinstance(value, np.generic):
        return _shown(value.item(), device)
    if isinstance(value, (type, np.dtype)):
        return np.dtype(value).name
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
