"""NumPy's callables by path or operator, their calls, and shapes of outputs without a call."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opperf.errors import UnknownOperatorError, suggest
from opperf.frameworks import paths, user_code
from opperf.frameworks.base import CallArguments
from opperf.frameworks.numpy import registry, signatures
from opperf.model import CallableTarget, Case, Operator, OperatorTarget, Target
from opperf.model import split_positional as by_position

ROOTS = {"np": np, "numpy": np}

GENERATORS: Mapping[str, Callable[[int], Any]] = {
    "random": np.random.RandomState,
    "random.Generator": np.random.default_rng,
}
"""Constructors of the generators that random functions are methods of, by prefix."""


find = functools.partial(paths.find, framework="NumPy", roots=ROOTS)
"""Returns the callable at a dotted path. Raises the errors of `paths.find`."""


def path_of(function: Callable[..., Any]) -> str:
    """Returns the dotted path of a callable, under which `find` has it if it is NumPy's."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"numpy.{owner.__name__}.{function.__name__}"
    if isinstance(function, np.ufunc) and not hasattr(function, "__qualname__"):
        # As in NumPy 1, which says no module of it either.
        return function.__name__
    return paths.path_of(function)


def target_at(path: str) -> Target:
    """Returns the target at a path, an operator's if there. Raises `UnknownOperatorError`."""
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
    if not isinstance(target, OperatorTarget):
        return user_code.function_of(target, find, ROOTS)
    operator = registry.by_name().get(target.name)
    if operator is None:
        raise UnknownOperatorError(
            f"NumPy has no function {target.name!r}{suggest(target.name, registry.by_name())}"
        )
    return registry.public_functions()[operator.name].function


def with_seed(target: Target, seed: int) -> Callable[..., Any]:
    """Returns the callable behind a target, for random numbers the method of a new generator: a
    case draws the same on every run, and the user's generator is not touched."""
    if isinstance(target, OperatorTarget):
        holder, _, method = target.name.rpartition(".")
        if holder in GENERATORS:
            drawing: Callable[..., Any] = getattr(GENERATORS[holder](seed), method)
            return drawing
    return function_of(target)


def signature(target: Target, function: Callable[..., Any]) -> Operator:
    """Returns a target's parameters: of the operator, or of the callable's signature."""
    operator = registry.operator_of(function)
    if operator is not None:
        return operator
    parameters = registry.declared_parameters(target.label, "", function)
    return Operator(
        framework=registry.FRAMEWORK, namespace="", name=target.label, parameters=parameters
    )


def bind(
    function: Callable[..., Any], declared: signatures.Parameters, arguments: CallArguments
) -> Callable[[], Any]:
    """Returns a call of `function`, as `paths.bind`. A generator's method is bound already."""
    unnamed, named = by_position(arguments)
    taken = {name: one for name, one in declared.items() if name != "self"}
    return paths.bind(function, taken, unnamed, named)


Shape = tuple[int, ...]


def output_shapes(case: Case) -> list[Shape] | None:
    """Returns the shapes of outputs where arithmetic is enough; else None."""
    if not isinstance(case.target, OperatorTarget):
        return None
    function = function_of(case.target)
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
"""Functions whose output has an element for each pair of two arrays' elements."""

PAIR = 2
"""Number of their arrays, without an output."""

SHAPE_ARGUMENTS = ("shape", "size")
"""Arguments that are the output's shape, of functions that take no array."""
