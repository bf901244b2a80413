"""NumPy's callables by path or operator, their calls, and shapes of outputs without a call."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opperf.errors import UnknownOperatorError, suggest
from opperf.frameworks import binding, paths, user_code
from opperf.frameworks.numpy import functions, registry, signatures
from opperf.model import CallableTarget, Case, Operator, OperatorTarget, Target
from opperf.model import split_positional as by_position

ROOTS = {"np": np, "numpy": np}
"""Modules by the first word of a dotted path."""

GENERATORS: Mapping[str, Callable[[int], Any]] = {
    "random": np.random.RandomState,
    "random.Generator": np.random.default_rng,
}
"""Constructors of the generators that functions are methods of, by prefix. The functions of
`np.random` are methods of NumPy's own RandomState."""


find = functools.partial(paths.find, framework="NumPy", roots=ROOTS)
"""Returns the callable at a dotted path. Raises the errors of `paths.find`."""


def path_of(function: Callable[..., Any]) -> str:
    """Returns the dotted path of a callable, under which `find` has it if it is NumPy's."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"numpy.{owner.__name__}.{function.__name__}"
    module = getattr(function, "__module__", None)
    name = name or type(function).__qualname__
    return f"{module}.{name}" if module else name


def target_at(path: str) -> Target:
    """Returns the target at a dotted path: the operator, if one is there. Raises
    `UnknownOperatorError`."""
    own = user_code.target_at(registry.FRAMEWORK, path)
    if own is not None:
        function_of(own)
        return own
    operator = registry.operator_of(find(path))
    if operator is None:
        return CallableTarget(framework=registry.FRAMEWORK, path=path)
    return OperatorTarget(framework=registry.FRAMEWORK, name=operator.name)


def target_of(function: Callable[..., Any]) -> Target:
    """Returns the target of a callable that a user passed."""
    operator = registry.operator_of(function)
    if operator is None:
        return CallableTarget(framework=registry.FRAMEWORK, path=path_of(function))
    return OperatorTarget(framework=registry.FRAMEWORK, name=operator.name)


def function_of(target: Target) -> Callable[..., Any]:
    """Returns the callable behind a target. Raises `UnknownOperatorError`."""
    own = user_code.function_of(target, find, ROOTS)
    if own is not None:
        return own
    if isinstance(target, CallableTarget):
        return find(target.path)
    assert isinstance(target, OperatorTarget)
    operator = registry.by_name().get(target.name)
    if operator is None:
        raise UnknownOperatorError(
            f"NumPy has no function {target.name!r}{suggest(target.name, registry.by_name())}"
        )
    return registry.public_functions()[operator.name].function


def with_seed(target: Target, seed: int) -> Callable[..., Any]:
    """Returns the callable behind a target. One that draws random numbers is the same method of a
    new generator, so that a case draws the same numbers on every run, and the user's generator is
    not touched."""
    if isinstance(target, OperatorTarget):
        holder, _, method = target.name.rpartition(".")
        if holder in GENERATORS:
            drawing: Callable[..., Any] = getattr(GENERATORS[holder](seed), method)
            return drawing
    return function_of(target)


def signature(target: Target, function: Callable[..., Any]) -> Operator:
    """Returns a target's parameters: the operator's declaration, or one from the callable's
    signature, with tensors recognised by name."""
    operator = registry.operator_of(function)
    if operator is not None:
        return operator
    parameters = registry.declared_parameters(target.label, "", function)
    return Operator(
        framework=registry.FRAMEWORK, namespace="", name=target.label, parameters=parameters
    )


def bind(
    function: Callable[..., Any], declared: signatures.Parameters, arguments: Mapping[str, Any]
) -> Callable[[], Any]:
    """Returns a call of `function` with these arguments, bound in advance so that it has no
    overhead. A generator's method is bound already: its `self` takes none."""
    unnamed, named = by_position(arguments)
    taken = {name: one for name, one in declared.items() if name != "self"}
    return binding.bind(function, taken, unnamed, named)


Shape = tuple[int, ...]


def output_shapes(case: Case) -> list[Shape] | None:
    """Returns the shapes of a case's outputs where arithmetic is enough: for ufuncs, for functions
    that make an array of a shape, for outer products; else None."""
    if not isinstance(case.target, OperatorTarget):
        return None
    function = functions.function_of(case.target)
    inputs = [spec.shape for _, spec in case.tensors()]
    if isinstance(function, np.ufunc) and function.signature is None:
        try:
            return [np.broadcast_shapes(*inputs)] * function.nout
        except ValueError:
            # NumPy's own refusal is the better message.
            return None
    if case.target.name in OF_TWO and len(inputs) == PAIR:
        return [OF_TWO[case.target.name](*inputs)]
    for name in SHAPE_ARGUMENTS:
        shape = case.arguments.get(name)
        if not inputs and isinstance(shape, tuple):
            extents = [extent for extent in shape if isinstance(extent, int)]
            return [tuple(extents)]
    return None


def kronecker(left: Shape, right: Shape) -> Shape:
    """Returns the shape of a Kronecker product: extents multiplied, from the last axis on."""
    axes = max(len(left), len(right))
    padded = ((1,) * (axes - len(shape)) + shape for shape in (left, right))
    return tuple(a * b for a, b in zip(*padded, strict=True))


OF_TWO: Mapping[str, Callable[[Shape, Shape], Shape]] = {
    "outer": lambda left, right: (math.prod(left), math.prod(right)),
    "kron": kronecker,
}
"""Functions whose output has an element for each pair of two arrays' elements, far more than
either has."""

PAIR = 2
"""Number of their arrays, without an output."""

SHAPE_ARGUMENTS = ("shape", "size")
"""Arguments that are the output's shape, of functions that take no array."""
