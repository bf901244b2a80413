"""Measures selections of operators from a Python program, in a worker process, and functions on
inputs that it passes: `run_performance_test`."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from opperf.api.calls import (
    QUIET,
    Results,
    call_settings,
    check_type,
    dtype_name,
    framework_of_call,
    measure_calls,
    measure_cases,
    one_device,
)
from opperf.defaults import RUNS, WARMUP
from opperf.execution.executor import InProcess
from opperf.execution.progress import Progress
from opperf.execution.workers import Workers
from opperf.frameworks import PREFERENCE, Framework, load
from opperf.instruments.prepared import Bound
from opperf.model import Case, Record, Status
from opperf.results.opperf_json import results_by_operator
from opperf.sources.registry import Plan, plan
from opperf.sources.selecting import Selection
from opperf.worker.pristine import configure_heap, is_self_contained

LOG = logging.getLogger("opperf")


def load_for_measuring(framework: str) -> Framework:
    """Returns the framework, after this process's heap is set up for measuring."""
    configure_heap(framework)
    return load(framework)


def make_plan(
    framework_name: str,
    ctx: Any,
    dtype: Any,
    profiler: str | None,
    int64_tensor: str,
    warmup: int,
    runs: int,
    **selected: Any,
) -> tuple[Framework, Plan]:
    """Returns the framework, and the plan of a selection with these settings."""
    framework = load_for_measuring(framework_name)
    settings = call_settings(framework, ctx, dtype, profiler, warmup, runs)
    selection = Selection(settings=settings, int64_tensor=int64_tensor.lower() == "on", **selected)
    return framework, plan(framework, selection)


@functools.cache
def workers() -> Workers:
    """Returns the workers of this process, with which they end."""
    return Workers()


class _Warnings(Progress):
    def end(self, record: Record) -> None:
        if record.status is not Status.OK:
            LOG.warning("%s: %s: %s", record.case.label, record.status.value, record.reason)


def measure_plan(made: Plan) -> Results:
    """Returns the results of every case of a plan, measured in a worker. One that could not be
    measured is logged as a warning, with the reason."""
    return results_by_operator(list(measure_in_workers(made.cases, _Warnings()).values()))


def measure_in_workers(cases: Sequence[Case], progress: Progress = QUIET) -> dict[str, Record]:
    """Returns the records of cases by id, measured in a worker."""
    try:
        return measure_cases(cases, workers(), progress)
    except BaseException:
        # A later request would read the answer to this one.
        workers().close()
        raise


Runner = Callable[..., Results]

PARAMETERS = f"""
    Parameters
    ----------
    ctx, device : str, or the framework's object
        Device, under either name; by default a GPU if there is one.
    dtype : str
        Data type of the inputs; by default float32.
    profiler : {{'native', 'python'}}
        The framework's own profiler (kernel time), or the wall clock; by default native.
    int64_tensor : {{'off', 'on'}}
        Whether tensors have more than 2**31 elements, on builds that support them.
    warmup : int
        Number of untimed calls, {WARMUP} by default.
    runs : int
        Number of timed calls after them, {RUNS} by default.
    """
"""The parameters of every runner, as its documentation describes them."""


class Runners(dict[str, Runner]):
    """The functions that measure a framework's operators, by category."""

    def __init__(self, framework: str) -> None:
        super().__init__()
        self.framework = framework

    def add(self, category: str, title: str, name: str = "") -> Runner:
        """Returns the function of a category, after it was added: of the usual name without one."""

        def measure(*arguments: Any) -> Results:
            framework, made = make_plan(self.framework, *arguments, categories=(category,))
            public = {operator.label for operator in framework.operators() if operator.public}
            cases = tuple(case for case in made.cases if case.label in public)
            return measure_plan(msgspec.structs.replace(made, cases=cases))

        self[category] = _runner(
            measure,
            name or f"run_{category}_operators_benchmarks",
            f"""Measure {title}.

    Returns `{{operator: [result, ...]}}`, a result for each configuration, with times in ms and
    memory in kB of 1000 bytes, as `run_performance_test` does.
    {PARAMETERS}""",
        )
        return self[category]

    def all(self, title: str) -> Runner:
        """Returns the function `run_all_FRAMEWORK_operator_benchmarks`, which calls every one."""

        def measure(*arguments: Any) -> Results:
            found = {name: made for run in self.values() for name, made in run(*arguments).items()}
            return dict(sorted(found.items()))

        return _runner(
            measure,
            f"run_all_{self.framework}_operator_benchmarks",
            f"""Measure every category of {title}, in a worker process.

    Returns `{{operator: [result, ...]}}`, sorted by operator, as each runner does.
    {PARAMETERS}""",
        )


def _runner(measure: Runner, name: str, description: str) -> Runner:
    """Returns a function with the signature of MXNet's utility; `device` is `ctx` too."""

    def runner(
        ctx: Any = None,
        dtype: Any = "float32",
        profiler: Literal["native", "python"] = "native",
        int64_tensor: str = "off",
        warmup: int = WARMUP,
        runs: int = RUNS,
    ) -> Results:
        return measure(ctx, dtype, profiler, int64_tensor, warmup, runs)

    runner.__name__ = runner.__qualname__ = name
    runner.__doc__ = description

    @functools.wraps(runner)
    def called(ctx: Any = None, *others: Any, device: Any = None, **named: Any) -> Results:
        return runner(one_device(ctx, device), *others, **named)

    return called


def run_performance_test(
    ops: Callable[..., Any] | Sequence[Callable[..., Any]],
    inputs: Sequence[Mapping[str, Any]] | Mapping[str, Any],
    run_backward: bool = True,
    dtype: Any = None,
    ctx: Any = None,
    profiler: Literal["native", "python"] | None = None,
    warmup: int = WARMUP,
    runs: int = RUNS,
    framework: str | None = None,
    save: str | os.PathLike[str] | None = None,
    device: Any = None,
) -> list[Results]:
    """Measures callables on each of the inputs.

    Parameters
    ----------
    ops : callable or list of callables
        Functions of `mx.nd`, `mx.np`, `mx.npx` or `torch`, a `torch.nn.Module`, or your own.
    inputs : list of dict
        Arguments by name. A tuple of integers is the shape of random numbers, a list of them a list
        of tensors; arrays keep their dtype, strides and shared memory; other values are passed on.
    run_backward : bool
        Measure the backward pass too, if there is a gradient.
    dtype : str, optional
        Of tensors, and of arrays of its kind; by default that of the arrays, or float32, of
        NumPy float64.
    ctx, device : str, mx.Context, torch.device or jax.Device
        Under either name; by default a GPU if there is one.
    profiler : {'native', 'python'}
        Kernel time, the default where the framework has a profiler, or the wall clock.
    warmup : int
        Untimed calls.
    runs : int
        Timed calls after them.
    framework : str
        By default that of the functions, arrays or device, or the only one imported.
    save : str or path
        Write a run file too, with every sample, for `opperf compare` and `opperf export`.

    Returns
    -------
    list of dict
        For each callable `{name: [result, ...]}`, a result for each of the inputs: `inputs`,
        `max_storage_mem_alloc_<device>` in kB (1000 bytes), `avg_time_forward_<name>` and
        `avg_time_backward_<name>` in ms; by the wall clock `avg_time_<name>`, `p50`, `p90` and
        `p99` of both passes. Others than MXNet's have CSV's columns; a failed one has a `reason`.

    Raises
    ------
    UsageError, OutputError
        For a value or input that cannot be used; for a file that exists or cannot be written.
    """
    ctx = one_device(ctx, device)
    name = framework_of_call(ops, inputs, ctx) or PREFERENCE[0] if framework is None else framework
    check_type("framework", name, str, "a name")
    check_type("save", save, (str, os.PathLike, type(None)), "a path")
    path = None if save is None else Path(save)
    settings = call_settings(loaded := load_for_measuring(name), ctx, dtype, profiler, warmup, runs)
    return measure_calls(loaded, ops, inputs, settings, run_backward, path, dtype_name(dtype))


def measure_safely(case: Case, framework: Framework, bound: Bound) -> Record:
    """Returns the record of a case, measured in a worker unless it needs this process's objects."""
    if is_self_contained(case, bound):
        return measure_in_workers([case])[case.id]
    here = InProcess({framework.name: framework}, {case.id: bound})
    return measure_cases([case], here)[case.id]
