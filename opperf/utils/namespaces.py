"""One operator in MXNet's namespaces: its name in each, and inputs of a given size for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from opperf.errors import UnknownOperatorError, suggestion
from opperf.frameworks import Framework
from opperf.model import Kind, Operator, TensorSpec
from opperf.rules.engine import NoInputs, inputs_for, rules_module
from opperf.rules.sizes import PRESETS

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
            alias[len(prefix):] for alias in operator.names for prefix in prefixes
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
            f"none of {', '.join(NAMESPACES)} has {name!r}{suggestion(name, known)}")
    return found


def inputs_of_size(
    framework: Framework, function: Callable[..., Any], size: tuple[int, ...],
    additional: Mapping[str, Any], dtype: str,
) -> dict[str, Any]:
    """Inputs of a function: its first tensor of this size, the others as they follow from it,
    plain values as the operator's rule has them, and the user's own in place of any of them."""
    target = framework.target_of(function)
    called = framework.signature(target, function)
    known = _registered(framework, called)
    inputs: dict[str, Any] = {}
    if known is not None:
        inputs = _from_rule(framework, known, called, size, dtype)
    for parameter in called.parameters:
        if parameter.name not in inputs and parameter.required:
            if parameter.kind is Kind.TENSOR:
                inputs[parameter.name] = size
            elif parameter.kind is Kind.TENSORS:
                inputs[parameter.name] = [size, size]
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
    arguments = made[0].arguments
    tensors = {n: v for n, v in arguments.items() if isinstance(v, TensorSpec)}
    lists = {n: v for n, v in arguments.items()
             if isinstance(v, tuple) and v and isinstance(v[0], TensorSpec)}
    values = {n: v for n, v in arguments.items() if n not in tensors and n not in lists}
    first = next(iter(tensors), None)
    found = inferred(operator.name, {**tensors, **values}, {first: size}) if first else None
    shapes = found[0] if found else {}
    renamed = dict(zip(tensors, (p.name for p in called.tensors), strict=False))
    accepted = {parameter.name for parameter in called.parameters}
    inputs: dict[str, Any] = {
        renamed.get(name, name): shapes.get(name, size) for name in tensors}
    inputs.update({name: [size] * len(value) for name, value in lists.items()})
    inputs.update({name: value for name, value in values.items() if name in accepted})
    return {name: value for name, value in inputs.items() if name in accepted}
