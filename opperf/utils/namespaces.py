"""One operator in MXNet's namespaces: its name in each, and inputs of a given size for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from opperf.errors import UnknownOperatorError, suggestion
from opperf.frameworks import Framework
from opperf.model import Argument, Kind, Operator, TensorSpec
from opperf.rules.engine import NoInputs, holds_tensors, inputs_for, rules_module, under_own_names
from opperf.rules.sizes import PRESETS
from opperf.rules.values import Arguments

NAMESPACES = {
    "mxnet.ndarray": ("ndarray", ""),
    "mxnet.numpy": ("numpy", "_npi_ _np_"),
    "mxnet.numpy_extension": ("numpy_extension", "_npx_"),
}
"""Namespace as it is printed, the attribute of `mxnet`, and its prefixes in the registry."""


def snake_case(name: str) -> str:
    """`BatchNorm` as `batch_norm`, `LeakyReLU` as `leaky_relu`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def spellings(framework: Framework, name: str) -> list[str]:
    """The names an operator may have in one namespace or another, the one asked for first:
    the registry's aliases without their prefixes, and names alike but for case."""
    prefixes = [p for _, listed in NAMESPACES.values() for p in listed.split()]
    found = [name]
    for operator in framework.operators():
        bare = {
            alias[len(prefix) :]
            for alias in operator.names
            for prefix in prefixes
            if alias.startswith(prefix)
        } | {alias for alias in operator.names if not alias.startswith("_")}
        folded = {snake_case(word) for word in bare}
        if name in bare or snake_case(name) in folded:
            found.extend(sorted(bare) + sorted(folded))
    return list(dict.fromkeys(found))


def functions_called(framework: Framework, name: str) -> dict[str, Callable[..., Any]]:
    """The function of that operator in each namespace that has one.

    Raises `UnknownOperatorError` when none has.
    """
    import mxnet as mx

    candidates = spellings(framework, name)
    found: dict[str, Callable[..., Any]] = {}
    for namespace, (attribute, _) in NAMESPACES.items():
        module = getattr(mx, attribute)
        spelled = next((word for word in candidates if callable(getattr(module, word, None))), None)
        if spelled is not None:
            found[namespace] = getattr(module, spelled)
    if not found:
        known = [n for attribute, _ in NAMESPACES.values() for n in dir(getattr(mx, attribute))]
        raise UnknownOperatorError(
            f"none of {', '.join(NAMESPACES)} has {name!r}{suggestion(name, known)}"
        )
    return found


def inputs_of_size(
    framework: Framework,
    function: Callable[..., Any],
    size: tuple[int, ...],
    additional: Mapping[str, Any],
    dtype: str,
) -> dict[str, Any]:
    """Inputs of a function: its first tensor of this size, the others as they follow from it,
    plain values as the operator's rule has them, and the user's own in place of any of them."""
    target = framework.target_of(function)
    called = framework.signature(target, function)
    known = _registered(framework, called)
    inputs = _from_rule(framework, known, called, size, dtype) if known else {}
    if not inputs:
        inputs = {
            parameter.name: [size, size] if parameter.kind is Kind.TENSORS else size
            for parameter in called.tensors
            if parameter.required
        }
    accepted = {parameter.name for parameter in called.parameters}
    inputs.update({name: value for name, value in additional.items() if name in accepted})
    return inputs


def _registered(framework: Framework, called: Operator) -> Operator | None:
    """The registered operator behind a function, or behind a wrapper of the same name."""
    if called.namespace:
        return called
    for word in spellings(framework, called.name):
        for prefix in ("", "_npx_", "_npi_", "_np_"):
            operator = framework.resolve(prefix + word)
            if operator is not None and len(operator.tensors) >= len(
                [p for p in called.tensors if p.required]
            ):
                return operator
    return None


def _from_rule(
    framework: Framework, operator: Operator, called: Operator, size: tuple[int, ...], dtype: str
) -> dict[str, Any]:
    """The operator's first configuration, resized, under the names of the function called:
    tensors go by their order, for a wrapper may rename them."""
    from opperf.frameworks.mxnet.inference import inferred

    made = inputs_for(operator, rules_module(framework.rules), PRESETS["small"], dtype)
    if isinstance(made, NoInputs):
        return {}
    arguments = of_rank(len(size), [inputs.arguments for inputs in made])
    first = next((n for n, v in arguments.items() if isinstance(v, TensorSpec)), None)
    found = inferred(operator.name, arguments, {first: size}) if first else None
    shapes = found[0] if found else {}
    resized = {name: _resized(value, shapes.get(name, size)) for name, value in arguments.items()}
    return {name: _written(value) for name, value in under_own_names(called, resized).items()}


def _resized(argument: Argument, shape: tuple[int, ...]) -> Argument:
    """The argument with its tensors of this shape."""
    if isinstance(argument, TensorSpec):
        return TensorSpec(shape, argument.dtype)
    if isinstance(argument, tuple) and holds_tensors(argument):
        return tuple(TensorSpec(shape) for _ in argument)
    return argument


def _written(argument: Argument) -> Any:
    """The argument as users write it: tensors as shapes."""
    if isinstance(argument, TensorSpec):
        return argument.shape
    if isinstance(argument, tuple) and holds_tensors(argument):
        return [element.shape for element in argument if isinstance(element, TensorSpec)]
    return argument


def of_rank(rank: int, configurations: list[Arguments]) -> Arguments:
    """The first configuration whose first tensor has this rank, else the first of all."""

    def first_rank(arguments: Arguments) -> int:
        return next((len(v.shape) for v in arguments.values() if isinstance(v, TensorSpec)), 0)

    return next((c for c in configurations if first_rank(c) == rank), configurations[0])
