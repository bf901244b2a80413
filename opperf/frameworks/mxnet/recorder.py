"""Records the calls of a program that uses MXNet, in the function by which all functions of its
operators call its library.

The backward pass is no call of Python's: it runs inside the library, and a case of what autograd
records has it as a pass. Graphs of hybridized blocks are calls of the library too; while they are
recorded, such blocks call their operators one by one.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import mxnet as mx
import numpy as np

from opperf.dtypes import is_floating
from opperf.errors import UnsupportedError
from opperf.frameworks.base import CallArguments
from opperf.frameworks.calls import Calls, EndStep, RecordedCall, Recorder, Sites, caller
from opperf.frameworks.mxnet import private, registry, tensors
from opperf.model import (
    Argument,
    Case,
    Fill,
    Kind,
    Number,
    Operator,
    OperatorTarget,
    Pass,
    Settings,
    TensorSpec,
)
from opperf.plurals import pluralize

INVOKE = "_imperative_invoke"
"""The function that calls an operator, among the names of the module of the generated ones."""

OUT = "out"
"""The argument of all operators: arrays for the results."""

PLACEMENT = ("ctx", "name")
"""Arguments that a case has as a setting, or not at all."""

# MXNet 2 has no modules.
MODULES = ((mx.mod.Module, "update"),) if hasattr(mx, "mod") else ()

OPTIMIZERS = ((mx.gluon.Trainer, "step"), *MODULES)
"""Classes whose method is an optimizer's step."""


@functools.cache
def operators_by_handle() -> dict[int, Operator]:
    """Returns the operators by their handles."""
    return {registry.handle(name): operator for name, operator in registry.by_name().items()}


class MXNetRecorder(Recorder):
    """Records MXNet's calls of all threads."""

    def __init__(self, calls: Calls, end_step: EndStep) -> None:
        super().__init__(calls, end_step)
        self._sites = Sites(str(mx.__file__), _blocks)
        self._restore: list[Callable[[], None]] = []
        self._watched: list[Callable[[], None]] = []
        self._hybridized: set[int] = set()

    def install(self) -> None:
        private.REGISTERING.get()
        for owner, name in OPTIMIZERS:
            self._watched.append(replace(owner, name, self._optimizing))

    def _optimizing(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def call(optimizer: Any, *args: Any, **named: Any) -> Any:
            self._sites.optimizing = True
            try:
                return step(optimizer, *args, **named)
            finally:
                self._sites.optimizing = False
                self.end_step(optimizer)

        return call

    def begin(self) -> None:
        # Here the list of all is made in no step of the program.
        operators_by_handle()
        block, hybrid = mx.gluon.Block, mx.gluon.HybridBlock
        self._restore = [
            replace(private.REGISTERING.get(), INVOKE, self._invoking),
            replace(block, "__call__", self._calling),
        ]
        if hasattr(hybrid, private.CACHED):
            self._restore.append(replace(hybrid, private.CACHED, self._called_one_by_one))

    def end(self) -> None:
        for restore in self._restore:
            restore()
        self._restore = []

    def wait(self) -> None:
        mx.nd.waitall()

    def remove(self) -> None:
        for restore in self._watched:
            restore()

    def notes(self) -> tuple[str, ...]:
        if not self._hybridized:
            return ()
        blocks = pluralize(len(self._hybridized), "hybridized block")
        return (
            f"{blocks} called their operators one by one while they were recorded, and not their "
            "graphs",
        )

    def _calling(self, call_block: Callable[..., Any]) -> Callable[..., Any]:
        def call(block: Any, *args: Any, **named: Any) -> Any:
            self._sites.enter(block, caller())
            try:
                return call_block(block, *args, **named)
            finally:
                self._sites.leave()

        return call

    def _called_one_by_one(self, call_graph: Callable[..., Any]) -> Callable[..., Any]:
        call_operators = private.one_by_one(call_graph)

        def call(block: Any, *args: Any) -> Any:
            self._hybridized.add(id(block))
            return call_operators(block, *args)

        return call

    def _invoking(self, invoke: Callable[..., Any]) -> Callable[..., Any]:
        def call(
            handle: int,
            arrays: Sequence[Any],
            names: Sequence[str],
            values: Sequence[Any],
            out: Any,
            *more: Any,
        ) -> Any:
            calls = self.calls
            calls.number += 1
            modes = (mx.autograd.is_recording(), mx.autograd.is_training())
            key = key_of(handle, arrays, names, values, modes)
            found = calls.known.get(key)
            if found is None:
                without = key_of(handle, arrays, names, values, modes, numbers=False)
                try:
                    described = functools.partial(
                        describe, handle, arrays, dict(zip(names, values, strict=True)), out, modes
                    )
                    found = calls.begin(key, without, described)
                except UnsupportedError as error:
                    operator = operators_by_handle().get(handle)
                    calls.refuse(operator.name if operator else f"operator {handle}", str(error))
            site = self._sites.at(caller())
            if found is None or not calls.timed:
                made = invoke(handle, arrays, names, values, out, *more)
                if found is not None:
                    found.add(site)
                return made
            mx.nd.waitall()
            begun = time.perf_counter_ns()
            made = invoke(handle, arrays, names, values, out, *more)
            mx.nd.waitall()
            found.add(site, time.perf_counter_ns() - begun)
            return made

        return call


def replace(
    owner: Any, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Callable[[], None]:
    """Replaces a function of a class or module by one that `wrap` makes of it, and returns what
    undoes that."""
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(wrap(original)))
    return lambda: setattr(owner, name, original)


def key_of(
    handle: int,
    arrays: Sequence[Any],
    names: Sequence[str],
    values: Sequence[Any],
    modes: tuple[bool, bool],
    numbers: bool = True,
) -> Hashable:
    """Returns what two equal calls have in common; without `numbers`, all but the values of
    numbers."""
    of_arrays = tuple(
        (array.shape, str(array.dtype), array.stype, str(array.context)) for array in arrays
    )
    of_values = tuple(
        type(value).__name__ if not numbers and isinstance(value, (int, float)) else str(value)
        for value in values
    )
    return handle, of_arrays, tuple(names), of_values, modes


def describe(
    handle: int, arrays: Sequence[Any], plain: CallArguments, out: Any, modes: tuple[bool, bool]
) -> RecordedCall:
    """Returns a call, of which nothing was counted yet. Raises `UnsupportedError` for an operator
    or an argument that no case has."""
    operator = operators_by_handle().get(handle)
    if operator is None:
        raise UnsupportedError("it is no operator of the registry")
    recording, training = modes
    specs = [_spec(array, recording) for array in arrays]
    arguments = dict(_by_name(operator, specs))
    for name, value in plain.items():
        is_counter = name == operator.variadic and len(specs) == value
        if name not in PLACEMENT and not is_counter:
            arguments[name] = _argument(value)
    written = out[0] if isinstance(out, (list, tuple)) and out else out
    if not arrays and written is not None and operator.parameter("shape") is not None:
        # The result's shape is that of the array it is written to.
        arguments.setdefault("shape", tuple(map(int, written.shape)))
    used = arrays[0] if arrays else written
    device = str(used.context) if used is not None else ""
    passes: tuple[Pass, ...] = ("forward", "backward") if recording else ("forward",)
    settings = Settings(device=device, phase="train" if training else "predict")
    return RecordedCall(
        Case(
            target=OperatorTarget(registry.FRAMEWORK, operator.name),
            arguments=arguments,
            settings=settings,
            passes=passes,
        ),
        further=_written(arrays, specs, arguments, out),
    )


def _by_name(operator: Operator, specs: Sequence[TensorSpec]) -> Iterator[tuple[str, Argument]]:
    """Yields the tensors of a call with the names of the operator's arguments. Raises
    `UnsupportedError` for more than it has."""
    rest = iter(specs)
    for parameter in operator.tensors:
        if parameter.kind is Kind.TENSORS:
            yield parameter.name, tuple(rest)
            return
        found = next(rest, None)
        if found is None:
            return
        yield parameter.name, found
    if next(rest, None) is not None:
        raise UnsupportedError("it has more tensors than its registration declares")


def _written(
    arrays: Sequence[Any], specs: Sequence[TensorSpec], arguments: Mapping[str, Argument], out: Any
) -> dict[str, Argument]:
    """Returns the argument of the arrays that a call writes its results to, if all are arrays that
    it takes; none for others, which make no difference."""
    names = {
        id(spec): path for name, value in arguments.items() for path, spec in _paths_in(name, value)
    }
    taken = {id(array): names[id(spec)] for array, spec in zip(arrays, specs, strict=True)}
    written = out if isinstance(out, (list, tuple)) else [] if out is None else [out]
    if not written or any(id(array) not in taken for array in written):
        return {}
    same = []
    for array in written:
        position = next(i for i, taken_array in enumerate(arrays) if taken_array is array)
        fill = Fill("same", data=taken[id(array)])
        same.append(msgspec.structs.replace(specs[position], fill=fill, gradient=False))
    return {OUT: tuple(same) if isinstance(out, (list, tuple)) else same[0]}


def _paths_in(name: str, value: Argument) -> Iterator[tuple[str, Argument]]:
    if isinstance(value, tuple):
        for index, element in enumerate(value):
            yield f"{name}.{index}", element
    else:
        yield name, value


def _spec(array: Any, differentiated: bool) -> TensorSpec:
    """Returns the spec of an array, whose contents are not looked at."""
    dtype = tensors.dtype_name(array.dtype)
    return TensorSpec(
        tuple(map(int, array.shape)),
        dtype,
        layout=tensors.storage_layout(array),
        gradient=differentiated and is_floating(dtype),
    )


def _argument(value: Any) -> Argument:
    if isinstance(value, np.generic):
        return _argument(value.item())
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else Number.of(value)
    if isinstance(value, (list, tuple)):
        return tuple(map(_argument, value))  # type: ignore[arg-type]
    if isinstance(value, (type, np.dtype)):
        return tensors.dtype_name(value)
    raise UnsupportedError(f"a {type(value).__name__} cannot be an argument of a case")


def _blocks(block: Any, path: str = "") -> Iterator[tuple[object, str]]:
    path = path or type(block).__name__
    yield block, path
    for name, child in private.children(block):
        yield from _blocks(child, f"{path}.{name}")
