"""Benchmark single operators from Python: the functions of MXNet's utility."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from opperf.api.calls import (
    Results,
    call_settings,
    check_type,
    display_result,
    dtype_name,
    framework_of_call,
    measure_calls,
    measure_cases,
    one_device,
)
from opperf.api.selections import (
    load_for_measuring,
    make_plan,
    measure_in_workers,
    measure_plan,
)
from opperf.defaults import RUNS, WARMUP
from opperf.errors import UsageError
from opperf.execution.executor import InProcess
from opperf.frameworks import Framework
from opperf.instruments.bound import Bound
from opperf.model import Case, OperatorTarget, Record
from opperf.mxnet_api import FRAMEWORK
from opperf.mxnet_api.namespaces import find_functions, inputs_of_size, with_shapes
from opperf.sources.call import UserCall
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
    """Measure one callable, or several, on each of the inputs.

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
        framework = framework_of_call(ops, inputs, ctx) or FRAMEWORK
    check_type("framework", framework, str, "a name")
    if save is not None:
        check_type("save", save, (str, os.PathLike), "a path")
    loaded = load_for_measuring(framework)
    settings = call_settings(loaded, ctx, dtype, profiler, warmup, runs)
    path = None if save is None else Path(save)
    return measure_calls(loaded, ops, inputs, settings, run_backward, path, dtype_name(dtype))


def measure_safely(case: Case, framework: Framework, bound: Bound) -> Record:
    """Measure a case in the worker, unless it needs objects that exist only in this process."""
    if is_self_contained(case, bound):
        return measure_in_workers([case])[case.id]
    here = InProcess({framework.name: framework}, {case.id: bound})
    return measure_cases([case], here)[case.id]


def run_op_benchmarks(
    ops: Iterable[str],
    dtype: Any = "float32",
    ctx: Any = None,
    profiler: Literal["native", "python"] = "native",
    int64_tensor: str = "off",
    warmup: int = WARMUP,
    runs: int = RUNS,
    device: Any = None,
) -> Results:
    """Measure operators by name, on the inputs that opperf's rules make for them.

    Returns `{operator: [result, ...]}`, with results as from `run_performance_test`.
    """
    names = tuple(ops)
    if not names:
        return {}
    ctx = one_device(ctx, device)
    _, made = make_plan(FRAMEWORK, ctx, dtype, profiler, int64_tensor, warmup, runs, patterns=names)
    return measure_plan(made)


def run_benchmark_operator(
    name: str,
    size: tuple[int, ...] = (128, 128),
    additional_inputs: Mapping[str, Any] | None = None,
    dtype: Any = None,
    run_backward: bool = False,
    ctx: Any = None,
    profiler: Literal["native", "python"] = "native",
    warmup: int = WARMUP,
    runs: int = RUNS,
    device: Any = None,
) -> dict[str, list[Results]]:
    """Measure an operator in every namespace that has it: `mx.nd`, `mx.np` and `mx.npx`.

    Parameters
    ----------
    name : str
        The operator's name in any of the namespaces; `batch_norm` finds `nd.BatchNorm`, and
        `linalg.svd` a function of a submodule.
    size : tuple of int
        Shape of the first tensor, from which those of other tensors follow. An operator without
        tensors makes one of this shape. One that requires another number of axes gets as many
        elements in a vector, or the shapes that opperf's rules have for it.
    additional_inputs : dict
        Arguments that replace the made ones, by name; those that a namespace's function does not
        have are ignored there.
    dtype, run_backward, ctx, profiler, warmup, runs, device
        As for `run_performance_test`.

    Returns
    -------
    dict
        By namespace (`mxnet.ndarray`, `mxnet.numpy`, `mxnet.numpy_extension`), the results as from
        `run_performance_test`, which are also printed. Functions that fall back to the host's
        NumPy are marked `fallback`. The operator is measured in a process of its own, so that a
        crash costs only its own result (status `crashed`), unless the additional inputs hold
        arrays.

    Raises
    ------
    UnknownOperatorError
        When no namespace has the operator.
    """
    ctx = one_device(ctx, device)
    framework = load_for_measuring(FRAMEWORK)
    settings = call_settings(framework, ctx, dtype, profiler, warmup, runs)
    found: dict[str, list[Results]] = {}
    for namespace, function in find_functions(name).items():
        inputs = inputs_of_size(framework, function, size, additional_inputs or {}, settings.dtype)
        target = framework.target_of(function)
        if isinstance(target, OperatorTarget):
            # The namespace's own function may lack some of the operator's tensors.
            function = framework.function(target)
        call = UserCall(
            framework, function, [inputs], settings, run_backward, target, dtype_name(dtype)
        )
        cases = list(call.cases())
        for reason in call.excluded.values():
            raise UsageError(f"{target.label}: {reason}")
        record = measure_safely(cases[0], framework, call.bound)
        shown = display_result(record, {name: with_shapes(value) for name, value in inputs.items()})
        marks = {note.code: note.message for note in framework.notes(target)}
        found[namespace] = [{target.label: [shown | marks]}]
        print(f"{namespace}: {found[namespace]}")
    return found
