"""JAX's callables by path or operator, and their calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax

from opperf.errors import UnknownOperatorError, did_you_mean, suggest
from opperf.frameworks import binding, paths, user_code
from opperf.frameworks.jax import constants, parameters, primitives, registry
from opperf.frameworks.jax.constants import ROOTS
from opperf.frameworks.jax.dtypes import DTYPES, dtype_of
from opperf.model import CallableTarget, Operator, OperatorTarget, Target
from opperf.model import split_positional as by_position
from opperf.near_names import nearest


def find(path: str) -> Callable[..., Any]:
    """Returns the callable at a dotted path. Raises `UnknownOperatorError`, which names the first
    word of the path that does not exist."""
    return paths.find(path, "JAX", ROOTS)


def path_of(function: Callable[..., Any]) -> str:
    """Returns the dotted path of a callable, under which `find` has it if it is JAX's."""
    operator = registry.operator_of(function)
    if operator is not None:
        return registry.path_of(operator.name)
    primitive = primitives.called_by(function)
    if primitive is not None:
        return primitives.path_of(primitive)
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{module}.{name}" if module else name


def target_of(function: Callable[..., Any]) -> Target:
    """Returns the target of a callable that a user passed."""
    operator = registry.operator_of(function)
    if operator is not None:
        return operator.target
    return CallableTarget(framework=registry.FRAMEWORK, path=path_of(function))


def target_at(path: str) -> Target:
    """Returns the target at a path: the operator, if one is there. Raises
    `UnknownOperatorError`."""
    if path.partition(".")[0] not in ROOTS and ":" not in path:
        near = nearest(path, [*registry.by_name()])
        raise UnknownOperatorError(f"JAX has no function {path!r}{did_you_mean(near)}")
    own = user_code.target_at(registry.FRAMEWORK, path)
    if own is not None:
        function_of(own)
        return own
    return target_of(find(path))


def function_of(target: Target) -> Callable[..., Any]:
    """Returns the callable of a target. Raises `UnknownOperatorError`."""
    own = user_code.function_of(target, find, ROOTS)
    if own is not None:
        return own
    if isinstance(target, CallableTarget):
        return find(target.path)
    assert isinstance(target, OperatorTarget)
    primitive = primitives.of(target)
    if primitive is not None:
        return primitive.bind
    operator = registry.by_name().get(target.name)
    if operator is None:
        raise UnknownOperatorError(
            f"JAX {jax.__version__} has no function {target.name!r}"
            f"{suggest(target.name, registry.by_name())}"
        )
    return registry.public_functions()[operator.name].function


def signature(target: Target, function: Callable[..., Any]) -> Operator:
    """Returns a target's parameters: the operator's declaration, or one from the callable's
    signature."""
    operator = registry.operator_of(function)
    if operator is not None:
        return operator
    return Operator(
        framework=registry.FRAMEWORK,
        namespace="",
        name=target.label,
        parameters=parameters.declared(target.label, function),
    )


def bind(
    function: Callable[..., Any], arguments: Mapping[str, Any], seed: int
) -> functools.partial[Any]:
    """Returns a call of a function with these arguments, and with a key of the seed if it draws
    random numbers.

    Arguments go by position, as programs write them, up to the first parameter without one, and by
    name from there on. A list for a variadic parameter is spread.
    """
    primitive = primitives.called_by(function)
    if primitive is not None:
        return primitives.bind(primitive, arguments)
    unnamed, named = by_position(arguments)
    declared = parameters.signature_of(function)
    operator = registry.operator_of(function)
    if operator is not None:
        _complete(operator, declared, named, seed)
    return binding.bind(function, declared, unnamed, named)


def _complete(
    operator: Operator, declared: parameters.Parameters, named: dict[str, Any], seed: int
) -> None:
    """Adds the key of random numbers, and replaces names of dtypes and fields of structures by
    JAX's objects."""
    if operator.namespace == "random":
        for name in declared.keys() & set(parameters.KEYS):
            named.setdefault(name, jax.random.key(seed))
    for parameter in operator.parameters:
        value = named.get(parameter.name)
        if parameter.choices and isinstance(value, str) and value in DTYPES:
            named[parameter.name] = dtype_of(value)
    constants.structure(declared, named)
