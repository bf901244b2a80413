"""Measures functions on inputs that a program passes: `run_performance_test`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from opperf.api.calls import (
    Results,
    call_settings,
    check_type,
    dtype_name,
    framework_of_call,
    measure_calls,
    measure_cases,
    one_device,
)
from opperf.api.selections import load_for_measuring, measure_in_workers
from opperf.defaults import RUNS, WARMUP
from opperf.execution.executor import InProcess
from opperf.frameworks import PREFERENCE, Framework
from opperf.instruments.prepared import Bound
from opperf.model import Case, Record
from opperf.worker.pristine import is_self_contained


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
    """Measures one callable, or several, on each of the inputs.

    Parameters
    ----------
    ops : callable or list of callables
        Any function of the framework, such as those of `mx.nd`, `mx.np`, `mx.npx`, `torch` and
        their submodules, a `torch.nn.Module`, or a Python function of its arrays.
    inputs : list of dict
        Arguments by name. A tuple of integers is a shape, filled with random numbers; a
        list of shapes is a list of tensors; arrays of NumPy and of the framework are used as
        they are, with their dtype, strides and the memory that they share; other values are passed
        to the call.
    run_backward : bool
        Measure the backward pass too, if there is a gradient.
    dtype : str, optional
        Data type of the tensors made from shapes; by default that of the arrays beside them, or
        float32. If it is given, arrays of its kind (floating, integer) are converted to it too.
    ctx, device : str, mx.Context, torch.device or jax.Device
        Device, under either name; by default a GPU if there is one.
    profiler : {'native', 'python'}
        The framework's own profiler (kernel time) or the wall clock; by default `native` where the
        framework has it.
    warmup, runs : int
        Number of untimed calls, and of timed ones after them.
    framework : str
        The framework of the functions, one of those that `opperf frameworks` lists; by default
        that whose functions, arrays or device they are, or that the functions use; else the only
        one that is imported, or MXNet.
    save : str or path
        Write a run file too, with every sample, for `opperf compare` and `opperf export`.

    Returns
    -------
    list of dict
        For each callable `{name: [result, ...]}`, a result for each of the inputs: `inputs`,
        `max_storage_mem_alloc_<device>` in kB (1000 bytes), `avg_time_forward_<name>` and
        `avg_time_backward_<name>` in ms. The Python timer adds `avg_time_<name>`,
        `p50_time_<name>`, `p90_time_<name>` and `p99_time_<name>` for both passes together.
        Results of another framework than MXNet have the names of CSV's columns in place of these:
        `forward_median_ms`, `memory_kB` and so on.
        A call that failed has `status` and `reason` in place of numbers.

    Raises
    ------
    UsageError
        For a framework, dtype, profiler, device or count that cannot be used, an operator that is
        not callable, and inputs that are no dict or contain values that no case can have.
    OutputError
        For a file to save to that exists or cannot be written.
    """
    ctx = one_device(ctx, device)
    if framework is None:
        framework = framework_of_call(ops, inputs, ctx) or PREFERENCE[0]
    check_type("framework", framework, str, "a name")
    if save is not None:
        check_type("save", save, (str, os.PathLike), "a path")
    loaded = load_for_measuring(framework)
    settings = call_settings(loaded, ctx, dtype, profiler, warmup, runs)
    path = None if save is None else Path(save)
    return measure_calls(loaded, ops, inputs, settings, run_backward, path, dtype_name(dtype))


def measure_safely(case: Case, framework: Framework, bound: Bound) -> Record:
    """Returns the record of a case, measured in a worker unless it needs objects that exist only in
    this process."""
    if is_self_contained(case, bound):
        return measure_in_workers([case])[case.id]
    here = InProcess({framework.name: framework}, {case.id: bound})
    return measure_cases([case], here)[case.id]
