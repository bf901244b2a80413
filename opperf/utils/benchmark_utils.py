"""Benchmark single operators from Python, as MXNet's utility does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from opperf.api.calls import Results, call_settings, display_result, dtype_name, one_device
from opperf.api.selections import (
    load_for_measuring,
    make_plan,
    measure_plan,
    measure_safely,
    run_performance_test,
)
from opperf.api.versus import Implementations, versus
from opperf.defaults import RUNS, WARMUP
from opperf.errors import UsageError
from opperf.frameworks import Framework
from opperf.frameworks.base import CallArguments
from opperf.model import OperatorTarget, Settings
from opperf.mxnet_api import FRAMEWORK
from opperf.mxnet_api.namespaces import find_functions, inputs_of_size, with_shapes
from opperf.sources.call import UserCall
from opperf.sources.operation_names import find_operations
from opperf.sources.operation_rows import of_first_tensor

__all__ = ["run_benchmark_operator", "run_op_benchmarks", "run_performance_test"]


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
    additional_inputs: CallArguments | None = None,
    dtype: Any = None,
    run_backward: bool = False,
    ctx: Any = None,
    profiler: Literal["native", "python"] = "native",
    warmup: int = WARMUP,
    runs: int = RUNS,
    device: Any = None,
    among: Iterable[str] = (),
) -> dict[str, list[Results]] | Implementations:
    """Measure an operator in every namespace that has it: `mx.nd`, `mx.np` and `mx.npx`.

    Parameters
    ----------
    name : str
        Its name in any of them: `batch_norm` finds `nd.BatchNorm`, `linalg.svd` a submodule's.
    size : tuple of int
        Shape of the first tensor, from which others follow, or of the one that the operator makes.
        With another number of axes, a vector of as many elements, or the shapes of opperf's rules.
    additional_inputs : dict
        Arguments that replace the made ones, by name, in the namespaces that have them.
    dtype, ctx, device : str, optional
        As for `run_performance_test`, as are the others.
    run_backward : bool
        Measure the backward pass too.
    profiler : 'native' or 'python'
    warmup : int
        Calls before.
    runs : int
        Timed calls.
    among : list of str
        Instead, a first look of `opperf.versus` at these, without profiler, warmup and runs.

    Returns
    -------
    dict or Implementations
        By namespace, the results as from `run_performance_test`, which are also printed; `fallback`
        marks those of the host's NumPy. A crash costs its own result (status `crashed`) alone.

    Raises
    ------
    UnknownOperatorError
        When no namespace has it.
    """
    if among:
        _check_first_look(profiler, warmup, runs)
        where = one_device(ctx, device)
        return _among(tuple(among), name, size, additional_inputs, dtype, where, run_backward)
    framework = load_for_measuring(FRAMEWORK)
    settings = call_settings(framework, one_device(ctx, device), dtype, profiler, warmup, runs)
    found: dict[str, list[Results]] = {}
    for namespace, function in find_functions(name).items():
        inputs = inputs_of_size(framework, function, size, additional_inputs or {}, settings.dtype)
        own = _measured(framework, function, inputs, settings, run_backward, dtype_name(dtype))
        found[namespace] = [own]
        print(f"{namespace}: {found[namespace]}")
    return found


def _check_first_look(profiler: str, warmup: int, runs: int) -> None:
    for option, value, usual in (
        ("profiler", profiler, "native"),
        ("warmup", warmup, WARMUP),
        ("runs", runs, RUNS),
    ):
        if value != usual:
            raise UsageError(
                f"{option} is not for among: a first look measures each for a time; omit it"
            )


def _among(
    among: tuple[str, ...],
    name: str,
    size: tuple[int, ...],
    additional_inputs: CallArguments | None,
    dtype: Any,
    device: Any,
    run_backward: bool,
) -> Implementations:
    (operation, *_) = find_operations([name])
    found = versus(
        name,
        among,
        quick=True,
        no_backward=not run_backward,
        max_configs=1,
        dtype=dtype,
        device=None if device is None else str(device),
        # Of another number of axes, the shapes are those of opperf's rules.
        shape=of_first_tensor(operation, size) or None,
        arg=additional_inputs or None,
    )
    print(found)
    return found


def _measured(
    framework: Framework,
    function: Callable[..., Any],
    inputs: CallArguments,
    settings: Settings,
    run_backward: bool,
    dtype: str,
) -> Results:
    target = framework.naming.target_of(function)
    if isinstance(target, OperatorTarget):
        # The namespace's own function may lack some of the operator's tensors.
        function = framework.function(target)
    call = UserCall(framework, function, [inputs], settings, run_backward, target, dtype)
    cases = list(call.cases())
    for reason in call.excluded.values():
        raise UsageError(f"{target.label}: {reason}")
    record = measure_safely(cases[0], framework, call.bound)
    shown = display_result(record, {name: with_shapes(value) for name, value in inputs.items()})
    marks = {note.code: note.message for note in framework.naming.notes(target)}
    return {target.label: [shown | marks]}
