"""One operator in MXNet's namespaces: its name in each, and inputs of a given size for each."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from opperf.errors import UnknownOperatorError, suggest
from opperf.frameworks import Framework
from opperf.model import Argument, CallableTarget, Kind, Operator, Target, TensorSpec
from opperf.rules.engine import NoInputs, holds_tensors, inputs_for, rules_module, under_own_names
from opperf.rules.ranges import Shape
from opperf.rules.sizes import PRESETS, Preset
from opperf.utils.arguments import ARGUMENTS, ARRAYS, MADE_SHAPES, REQUIRED, matrix
from opperf.utils.fitting import fitted

NAMESPACES = {
    "mxnet.ndarray": ("ndarray", ""),
    "mxnet.numpy": ("numpy", "_npi_ _np_"),
    "mxnet.numpy_extension": ("numpy_extension", "_npx_"),
}
"""Namespace as it is printed, the attribute of `mxnet`, and its prefixes in the registry."""

PREFIXES = {
    "mxnet.numpy": ("_npi_", "_np_", "_npx_", ""),
    "mxnet.numpy_extension": ("_npx_", "_npi_", "_np_", ""),
    "mxnet.ndarray": ("", "_", "_contrib_", "_npi_", "_np_"),
}
"""Prefixes of the registered names that a namespace's functions may wrap, the likeliest first."""

WRAPPED = {
    "ndarray.random.multinomial": "_sample_multinomial",
    "numpy.bitwise_invert": "_npi_bitwise_not",
    "numpy.invert": "_npi_bitwise_not",
    "numpy_extension.random.categorical": "_sample_categorical",
    "numpy_extension.random.multinomial": "_sample_multinomial",
}
"""Operators behind functions of another name, by the function's place in MXNet."""


def snake_case(name: str) -> str:
    """`BatchNorm` as `batch_norm`, `LeakyReLU` as `leaky_relu`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def spellings(framework: Framework, name: str) -> list[str]:
    """The names an operator may have in one namespace or another, the one asked for first:
    the registry's aliases without their prefixes, and names alike but for case."""
    found, folded_name = [name], snake_case(name)
    for bare, folded in _words(framework.operators()):
        if name in bare or folded_name in folded:
            found.extend(sorted(bare) + sorted(folded))
    return list(dict.fromkeys(found))


@functools.cache
def _words(operators: tuple[Operator, ...]) -> list[tuple[set[str], set[str]]]:
    """Of every operator the names that namespaces may have for it, and these in snake case."""
    prefixes = [p for _, listed in NAMESPACES.values() for p in listed.split()]
    words = []
    for operator in operators:
        bare = {
            alias[len(prefix) :]
            for alias in operator.names
            for prefix in prefixes
            if alias.startswith(prefix)
        } | {alias for alias in operator.names if not alias.startswith("_")}
        words.append((bare, {snake_case(word) for word in bare}))
    return words


def functions_called(framework: Framework, name: str) -> dict[str, Callable[..., Any]]:
    """The function of that operator in each namespace that has one; `linalg.svd` looks in a
    submodule of each.

    Raises `UnknownOperatorError` when none has.
    """
    import mxnet as mx

    *path, last = name.split(".")
    candidates = spellings(framework, last)
    found: dict[str, Callable[..., Any]] = {}
    for namespace, (attribute, _) in NAMESPACES.items():
        module = functools.reduce(
            lambda place, word: getattr(place, word, None), path, getattr(mx, attribute)
        )
        spelled = next((word for word in candidates if callable(getattr(module, word, None))), None)
        if spelled is not None:
            found[namespace] = getattr(module, spelled)
    if not found:
        known = [n for attribute, _ in NAMESPACES.values() for n in dir(getattr(mx, attribute))]
        raise UnknownOperatorError(
            f"none of {', '.join(NAMESPACES)} has {name!r}{suggest(name, known)}"
        )
    return found


def place_of(target: Target) -> str:
    """Where in MXNet a callable is: `numpy.linalg.svd`; empty for a registered operator. What
    `mx.np` calls is in a namespace below `mx.nd`, and takes the same arguments."""
    place = target.path.partition(".")[2] if isinstance(target, CallableTarget) else ""
    return place.removeprefix("ndarray.") if place.startswith("ndarray.numpy") else place


def registered(framework: Framework, target: Target, called: Operator) -> Operator | None:
    """The registered operator that a function of MXNet calls or wraps: itself, or the one of
    its name in its namespace, or of a name alike. None for a function that is not MXNet's."""
    if called.namespace or not isinstance(target, CallableTarget):
        return called if called.namespace else None
    if place_of(target) in WRAPPED:
        return framework.resolve(WRAPPED[place_of(target)])
    words = [target.path.partition(".")[0], *place_of(target).split(".")]
    prefixes = PREFIXES.get(".".join(words[:2]), ())
    submodule = "".join(f"{word}_" for word in words[2:-1])
    needed = len([p for p in called.tensors if p.required])
    for word in spellings(framework, called.name) if prefixes else ():
        for prefix in prefixes:
            own = framework.resolve(prefix + submodule + word) if submodule else None
            if own is not None:
                return own
            operator = framework.resolve(prefix + word)
            if operator is not None and len(operator.tensors) >= needed:
                return operator
    return None


def inputs_of_size(
    framework: Framework,
    function: Callable[..., Any],
    size: Shape,
    additional: Mapping[str, Any],
    dtype: str,
) -> dict[str, Any]:
    """Inputs of a function: its first tensor of this size, the others as they follow from it,
    plain values as the operator's rule has them, and the user's own in place of any of them.
    Tensors of a rule have what fills them, those of no rule are shapes.

    A function without tensors makes one of this size. Where an operator cannot take the size,
    because it wants other axes, its rule's own shapes stand.
    """
    target = framework.target_of(function)
    called = framework.signature(target, function)
    accepted = {parameter.name for parameter in called.parameters}
    given = {name: value for name, value in additional.items() if name in accepted}
    place = place_of(target)
    operator = registered(framework, target, called)
    inputs: dict[str, Any] = {}
    if place in ARGUMENTS:
        inputs = {name: _made(value, size) for name, value in ARGUMENTS[place].items()}
    elif operator is not None:
        inputs = _from_rule(framework, operator, called, size, given, dtype)
    has_rule = bool(inputs)
    for parameter in called.parameters:
        if not parameter.required or parameter.name in inputs:
            continue
        if parameter.name in REQUIRED:
            inputs[parameter.name] = _made(REQUIRED[parameter.name], size)
        elif not has_rule and parameter.kind in (Kind.TENSOR, Kind.TENSORS):
            inputs[parameter.name] = size if parameter.kind is Kind.TENSOR else [size, size]
    arrays = ARRAYS | {parameter.name for parameter in called.tensors}
    if not any(isinstance(inputs.get(name), (tuple, list, TensorSpec)) for name in arrays):
        open_to_size = accepted - set(ARGUMENTS.get(place, ()))
        inputs.update((name, size) for name in [n for n in MADE_SHAPES if n in open_to_size][:1])
    return inputs | given


def _made(value: Any, size: Shape) -> Any:
    return value(size) if callable(value) else value


def _from_rule(
    framework: Framework,
    operator: Operator,
    called: Operator,
    size: Shape,
    given: Mapping[str, Any],
    dtype: str,
) -> dict[str, Any]:
    """A configuration of the operator's rule, as large as asked, under the names of the function
    called: tensors go by their order, for a wrapper may rename them."""
    rules = rules_module(framework.rules)
    made = inputs_for(operator, rules, PRESETS["small"], dtype)
    if isinstance(made, NoInputs):
        return {}
    sized = inputs_for(operator, rules, _preset(size), dtype)
    assert not isinstance(sized, NoInputs)
    configurations = [inputs.arguments for inputs in made]
    tensors = {n: v for n, v in configurations[0].items() if holds_tensors(v)}
    names = dict(zip(under_own_names(called, tensors), tensors, strict=True))
    theirs = {
        registered_name: _as_argument(parameter.kind, value)
        for registered_name, value in ((names.get(n, n), value) for n, value in given.items())
        if (parameter := operator.parameter(registered_name)) is not None
    }
    fitting = fitted(operator, configurations, [inputs.arguments for inputs in sized], size, theirs)
    return under_own_names(called, fitting)


def _preset(size: Shape) -> Preset:
    """The preset whose matrices are of a size, with the leading axes of one of more in one: what
    a rule makes of rows and columns then goes together at any size."""
    small = PRESETS["small"]
    if len(size) < 2:
        return small
    return dataclasses.replace(small, matrix=matrix(size))


def _as_argument(kind: Kind, value: Any) -> Argument:
    """A user's value as shape inference takes it: arrays and shapes as tensors."""
    if kind is Kind.TENSORS and isinstance(value, (list, tuple)):
        return tuple(_as_argument(Kind.TENSOR, element) for element in value)  # type: ignore[misc]
    if hasattr(value, "shape"):
        return TensorSpec(tuple(value.shape))
    if kind is Kind.TENSOR and isinstance(value, tuple):
        return TensorSpec(value)
    return value  # type: ignore[no-any-return]


def written(argument: Any) -> Any:
    """The argument as users write it: tensors as shapes."""
    if isinstance(argument, TensorSpec):
        return argument.shape
    if holds_tensors(argument):
        return [element.shape for element in argument if isinstance(element, TensorSpec)]
    return argument
