"""One operator in MXNet's namespaces: its function in each, and inputs of a size for it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from opperf.errors import UnknownOperatorError, suggest
from opperf.frameworks import Framework
from opperf.frameworks.base import CallArguments
from opperf.model import Argument, Kind, Operator, TensorSpec
from opperf.mxnet_api.arguments import ARGUMENTS, ARRAYS, REQUIRED, SHAPE_ARGUMENTS, matrix
from opperf.rules.callables import own_arguments
from opperf.rules.engine import Inputs, inputs_for, rules_module
from opperf.rules.fitting import Inference, dense_if_any, fit
from opperf.rules.ranges import Shape
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import PRESETS, Preset
from opperf.rules.values import Arguments, holds_tensors, rename_arguments

NAMESPACES = {
    "mxnet.ndarray": "ndarray",
    "mxnet.numpy": "numpy",
    "mxnet.numpy_extension": "numpy_extension",
}
"""Attributes of `mxnet`, by the namespaces' printed names."""


FIXED_RANK = frozenset(
    (
        *("InstanceNorm", "_contrib_calibrate_entropy", "_contrib_quantize_asym"),
        *("_contrib_sldwin_atten_mask_like", "_npi_tensordot", "_npi_tensordot_int_axes"),
        *("_npx_index_add", "_npx_index_update"),
    )
)
"""Operators whose first tensor keeps its rule's number of axes: for others MXNet infers shapes, and
then refuses the call or crashes, `_contrib_quantize_asym` for example."""

FIXED_SHAPE = frozenset({"_contrib_PSROIPooling", "_contrib_DeformablePSROIPooling"})
"""Operators whose first tensor keeps its rule's shape: plain arguments determine the number of its
channels, and MXNet reads out of bounds where there are fewer."""


def _shapes(name: str, arguments: Arguments, known: Mapping[str, Shape]) -> dict[str, Shape]:
    from opperf.frameworks.mxnet.inference import infer_shapes

    found = infer_shapes(name, arguments, known)
    return found[0] if found else {}


def _output_shapes(name: str, arguments: Arguments) -> list[Shape] | None:
    from opperf.frameworks.mxnet.inference import output_shapes

    return output_shapes(name, arguments)


INFERENCE = Inference(_shapes, _output_shapes, FIXED_RANK, FIXED_SHAPE)


def find_functions(name: str) -> dict[str, Callable[..., Any]]:
    """The functions of an operator, by namespace. `linalg.svd` is searched in a submodule of each.
    Raises `UnknownOperatorError` when none has."""
    import mxnet as mx

    from opperf.frameworks.mxnet.registry import spellings

    *path, last = name.split(".")
    candidates = spellings(last)
    found: dict[str, Callable[..., Any]] = {}
    for namespace, attribute in NAMESPACES.items():
        module = functools.reduce(
            lambda place, word: getattr(place, word, None), path, getattr(mx, attribute)
        )
        own = next((word for word in candidates if callable(getattr(module, word, None))), None)
        if own is not None:
            found[namespace] = getattr(module, own)
    if not found:
        known = [n for attribute in NAMESPACES.values() for n in dir(getattr(mx, attribute))]
        raise UnknownOperatorError(
            f"none of {', '.join(NAMESPACES)} has {name!r}{suggest(name, known)}"
        )
    return found


def inputs_of_size(
    framework: Framework,
    function: Callable[..., Any],
    size: Shape,
    additional: CallArguments,
    dtype: str,
) -> dict[str, Any]:
    """Inputs of a function: its first tensor of this size, other tensors inferred from it, plain
    values from the operator's rule, and the user's `additional` inputs in place of any of these. A
    function without tensors makes one of this size. Where an operator does not accept the size, its
    rule's own shapes are used."""
    from opperf.frameworks.mxnet.registry import place_of

    target = framework.naming.target_of(function)
    called = framework.signature(target, function)
    accepted = {parameter.name for parameter in called.parameters}
    replacements = {name: value for name, value in additional.items() if name in accepted}
    place = place_of(target)
    operator = framework.naming.wrapped_operator(target, called)
    inputs: dict[str, Any] = {}
    if place in ARGUMENTS:
        inputs = {name: _evaluate(value, size) for name, value in ARGUMENTS[place].items()}
    elif operator is not None:
        inputs = _from_rule(framework, operator, called, size, replacements, dtype)
    has_rule = bool(inputs)
    for parameter in called.parameters:
        if not parameter.required or parameter.name in inputs:
            continue
        if parameter.name in REQUIRED:
            inputs[parameter.name] = _evaluate(REQUIRED[parameter.name], size)
        elif not has_rule and parameter.kind in (Kind.TENSOR, Kind.TENSORS):
            inputs[parameter.name] = size if parameter.kind is Kind.TENSOR else [size, size]
    arrays = ARRAYS | {parameter.name for parameter in called.tensors}
    if not any(isinstance(inputs.get(name), (tuple, list, TensorSpec)) for name in arrays):
        open_to_size = accepted - set(ARGUMENTS.get(place, ()))
        inputs.update(
            (name, size) for name in [n for n in SHAPE_ARGUMENTS if n in open_to_size][:1]
        )
    return inputs | replacements


def _evaluate(value: Any, size: Shape) -> Any:
    return value(size) if callable(value) else value


def _from_rule(
    framework: Framework,
    operator: Operator,
    called: Operator,
    size: Shape,
    replacements: CallArguments,
    dtype: str,
) -> dict[str, Any]:
    """A configuration of the operator's rule in this size, under the names of the function
    `called`, in the same order of tensors, as a wrapper may rename them. Empty without a rule."""
    rules = rules_module(framework.rules)
    made = inputs_for(operator, rules, PRESETS["small"], dtype)
    if isinstance(made, NoInputs):
        return {}
    sized = inputs_for(operator, rules, _preset(size), dtype)
    assert not isinstance(sized, NoInputs)
    configurations = _taken(operator, called, made)
    tensors = {n: v for n, v in configurations[0].items() if holds_tensors(v)}
    names = dict(zip(rename_arguments(called, tensors), tensors, strict=True))
    own = ((names.get(name, name), value) for name, value in replacements.items())
    replacing = {
        registered_name: _as_argument(parameter.kind, value)
        for registered_name, value in own
        if (parameter := operator.parameter(registered_name)) is not None
    }
    made_for_size = _taken(operator, called, sized)
    fitting = fit(operator, configurations, made_for_size, size, replacing, INFERENCE)
    return rename_arguments(called, fitting)


def _taken(operator: Operator, called: Operator, made: list[Inputs]) -> list[Arguments]:
    """The arguments that the function can be called with, if there are any: a draw by tensors of
    parameters has names that only the operator has."""
    every = [inputs.arguments for inputs in dense_if_any(made)]
    return [a for a in every if own_arguments(operator, called, a) is not None] or every


def _preset(size: Shape) -> Preset:
    """The preset whose matrices have this size, so that what a rule derives from rows and columns
    is consistent."""
    small = PRESETS["small"]
    if len(size) < 2:
        return small
    return dataclasses.replace(small, matrix=matrix(size))


def _as_argument(kind: Kind, value: Any) -> Argument:
    if kind is Kind.TENSORS and isinstance(value, (list, tuple)):
        return tuple(_as_argument(Kind.TENSOR, element) for element in value)  # type: ignore[misc]
    if hasattr(value, "shape"):
        return TensorSpec(tuple(value.shape))
    if kind is Kind.TENSOR and isinstance(value, tuple):
        return TensorSpec(value)
    return value  # type: ignore[no-any-return]


def with_shapes(argument: Any) -> Any:
    """The argument as users write it, with shapes for tensors."""
    if isinstance(argument, TensorSpec):
        return argument.shape
    if holds_tensors(argument):
        return [element.shape for element in argument if isinstance(element, TensorSpec)]
    return argument
