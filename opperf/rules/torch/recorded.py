"""Inputs that recorded training runs of 24 models pass to PyTorch's operators.

`recorded.json` has, for each overload, its most frequent and its most expensive inputs, with the
number of calls and the models. `python -m tools.recorded_inputs` makes it.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from opperf.dtypes import is_floating
from opperf.model import (
    Device,
    DType,
    Fill,
    Number,
    Operator,
    TensorSpec,
    iter_tensors,
    map_tensors,
)
from opperf.model.targets import DEFAULT_OVERLOAD
from opperf.rules.configurations import ROW, WHY, inputs_of
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.torch.recorded_fills import with_fills
from opperf.rules.torch.recorded_whys import describe
from opperf.rules.values import AT_LEAST_SINGLE, REQUESTED, Arguments

FILE = Path(__file__).with_name("recorded.json")

Entry = Mapping[str, Any]
"""One input: `arguments`, by name; those that differ at a size, by its name, or None where it would
be another kind of work; `count`, `models`, and its `line` in the file."""

HALF, SINGLE = "float16", "float32"
"""Dtypes of the recorded runs, which are in mixed precision."""

SUPPORTED = {"complex32": "complex64"}
"""Dtypes in place of those that few operators support."""


@functools.cache
def table() -> Mapping[str, Sequence[Entry]]:
    """Returns the recorded inputs, by the overload's name in the dispatcher."""
    text = FILE.read_text(encoding="utf-8")
    made: dict[str, list[dict[str, Any]]] = json.loads(text)
    lines = (number for number, line in enumerate(text.splitlines(), 1) if line.startswith('{"'))
    for entries in made.values():
        for entry in entries:
            entry["line"] = next(lines)
    return made


def key_of(name: str) -> str:
    """Returns an overload's name in the dispatcher, `aten::add.Tensor`."""
    name = name.removeprefix("torch.ops.")
    if "::" not in name:
        name = name.replace(".", "::", 1)
    return name.removesuffix(".default")


def family(operator: Operator, preset: Preset) -> Iterable[Arguments]:
    """Inputs of recorded training runs: the most frequent and the most expensive, but for those of
    elementwise operators that are contiguous, of one shape: work that rules have."""
    label = next(name for name in operator.names if name in LABELS)
    accepted = {parameter.name for parameter in operator.parameters}
    for made in configurations(LABELS[label], preset, LEAST):
        if accepted.issuperset(inputs_of(made)) and not is_flat(label.partition(".")[0], made):
            yield made


def label_of(key: str) -> str:
    """Returns an overload's name in the registry, `relu.default`, for that in the dispatcher."""
    name = key.partition("::")[2]
    return name if "." in name else f"{name}.{DEFAULT_OVERLOAD}"


REPEATED = frozenset(
    {
        *("aten::mean", "aten::nll_loss_backward", "aten::nll_loss_forward", "aten::sum"),
        *("aten::upsample_bilinear2d.vec", "aten::upsample_bilinear2d_backward"),
    }
)
"""Overloads whose recorded inputs are the kinds of work that their rule has."""

LABELS = {label_of(key): key for key in table() if key not in REPEATED}
"""The overloads that have recorded inputs, each with its name in the dispatcher."""

FAMILIES = Families(are_last=True)
FAMILIES.also(*LABELS)(family)

LEAST = 10_000
"""Elements of a recorded configuration's largest tensor: fewer take no longer than the call."""


def elements(entry: Entry) -> int:
    """Returns the recorded elements of an input's largest tensor, or of the one that it makes."""
    arguments = entry["arguments"]
    shapes = [tensor["shape"] for tensor in _tensors(arguments.values())]
    return max(map(math.prod, [*shapes, arguments.get("size", [])]))


def configurations(label: str, preset: Preset, least: int = 0) -> list[Arguments]:
    """Returns the recorded inputs of an overload at a size, each with the models that have it; none
    if no run calls it. Of those that are the same kind of work at this size, the first is one.
    Those whose largest tensor has fewer than `least` elements are omitted."""
    key = key_of(label)
    entries = [
        entry
        for entry in table().get(key, [])
        if elements(entry) >= least and entry.get(preset.name, {}) is not None
    ]
    operator = key.partition("::")[2].partition(".")[0]
    kinds: list[tuple[Arguments, int]] = []
    made: list[Arguments] = []
    ratio = ALIKE if operator not in (*PRODUCTS, *ELEMENTWISE) else math.inf
    for entry, why in zip(entries, describe(entries, preset.name), strict=True):
        sized = {**entry["arguments"], **entry.get(preset.name, {})}
        arguments = with_gradients(operator, with_fills(operator, decode(sized)))
        own, many = kind(operator, arguments), elements({"arguments": sized})
        if not any(own == x and n / ratio < many < n * ratio for x, n in kinds):
            kinds.append((own, many))
            made.append({**arguments, WHY: why, ROW: f"{FILE}:{entry['line']}"})
    return made


PRODUCTS = ("addmm", "bmm", "convolution", "convolution_backward", "mm")
"""Operators whose extents decide which algorithm is fast: of a kind are those of equal ones."""

ELEMENTWISE = frozenset(
    {
        *("_to_copy", "abs", "add", "add_", "clone", "copy_", "cos", "div", "elu"),
        *("elu_backward", "eq", "fill_", "gelu", "gelu_backward", "hardsigmoid"),
        *("hardsigmoid_backward", "hardswish_", "hardswish_backward", "leaky_relu"),
        *("leaky_relu_", "leaky_relu_backward", "lt", "masked_fill", "masked_fill_", "maximum"),
        *("minimum", "mul", "mul_", "neg", "pow", "relu", "relu_", "rsqrt", "rsub"),
        *("select_backward", "sgn", "sigmoid", "sigmoid_backward", "sin", "slice_backward"),
        *("sub", "tanh", "tanh_backward", "threshold_backward", "where"),
    }
)
"""Operators that take as long for an element of one shape as of another."""

ALIKE = 8
"""Largest ratio of the elements of two inputs of other operators that are the same kind of work."""

UNREAD = (
    *("size", "input_size", "input_sizes", "output_size", "normalized_shape", "num_weights"),
    *("eps", "momentum"),
)
"""Arguments that are extents, and numbers that no branch depends on."""

PLACES: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("embedding", "embedding_dense_backward"), ("padding_idx",)),
    **dict.fromkeys(("new_empty_strided", "new_ones", "new_zeros"), ("self", "stride", "dtype")),
    **{"select_backward": ("index",), "slice_backward": ("dim",)},
}
"""Other arguments that change nothing of the work, by operator."""


def is_flat(operator: str, arguments: Arguments) -> bool:
    """Whether an operator is elementwise, and its tensors are contiguous and of one shape."""
    specs = [spec for value in arguments.values() for spec in iter_tensors(value)]
    alike = len({spec.shape for spec in specs}) == 1 and not any(spec.strides for spec in specs)
    return alike and operator in ELEMENTWISE


def kind(operator: str, arguments: Arguments) -> Arguments:
    """Returns the arguments without extents, and without what changes nothing of the work."""
    if operator in PRODUCTS:
        return arguments
    each, flat = operator in ELEMENTWISE, is_flat(operator, arguments)

    def change(spec: TensorSpec) -> TensorSpec:
        axes = tuple(min(extent, 2) if each else 2 for extent in spec.shape)
        inner = sorted(range(len(spec.strides)), key=lambda axis: spec.strides[axis])
        order = tuple(axis if spec.strides[axis] else -1 for axis in inner)
        fill = Fill(spec.fill.distribution)
        return TensorSpec(() if flat else axes, spec.dtype, fill, strides=order)

    unread = (*UNREAD, *PLACES.get(operator, ()), *(("other", "value") if each else ()))
    return {
        name: map_tensors(value, change)
        for name, value in arguments.items()
        if name not in unread or isinstance(value, TensorSpec) and name != "self"
    }


def decode(recorded: Mapping[str, Any]) -> Arguments:
    """Returns recorded arguments with the run's dtype in place of the recorded floating one.

    Tensors in single precision stay so beside others in half precision.
    """
    floating = {
        tensor["dtype"] for tensor in _tensors(recorded.values()) if is_floating(tensor["dtype"])
    }
    dtypes: dict[str, str] = dict.fromkeys(floating, REQUESTED)
    if {HALF, SINGLE} <= floating:
        dtypes[SINGLE] = AT_LEAST_SINGLE
    if recorded.get("dtype") == {"dtype": SINGLE} and floating == {HALF}:
        # A cast from half precision would cast nothing in a run in single precision.
        dtypes[HALF] = HALF

    def named(dtype: str) -> str:
        return dtypes.get(dtype, SUPPORTED.get(dtype, dtype))

    def value(one: Any) -> Any:
        if isinstance(one, list):
            return tuple(map(value, one))
        if not isinstance(one, dict):
            return one
        if "shape" in one:
            strides = tuple(one.get("strides", ()))
            return TensorSpec(tuple(one["shape"]), named(one["dtype"]), strides=strides)
        if "dtype" in one:
            return DType(named(one["dtype"]))
        return Number(one["number"]) if "number" in one else one["layout"]

    return {name: value(one) for name, one in recorded.items()}


def _tensors(values: Iterable[Any]) -> Iterable[Mapping[str, Any]]:
    for value in values:
        if isinstance(value, list):
            yield from _tensors(value)
        elif isinstance(value, dict) and "shape" in value:
            yield value


WITHOUT_GRADIENT = {"native_batch_norm": ("running_mean", "running_var")}
"""Floating tensors that the operators update and do not differentiate."""


def with_gradients(operator: str, arguments: Arguments) -> Arguments:
    """Returns the arguments with a gradient for each floating tensor. Backward operators, which
    autograd does not differentiate, and those that write to their inputs, leaves, have none."""
    if "_backward" in operator or operator.endswith("_"):
        return arguments
    without = WITHOUT_GRADIENT.get(operator, ())

    def change(spec: TensorSpec) -> TensorSpec:
        floating = spec.dtype in (REQUESTED, AT_LEAST_SINGLE) or is_floating(spec.dtype)
        return msgspec.structs.replace(spec, gradient=floating)

    return {
        name: value if name in without else map_tensors(value, change)
        for name, value in arguments.items()
    }


PLACEMENT = ("device", "pin_memory")
"""Arguments that say where a result is, which is the case's own device."""

USUAL = (None, "strided")
"""Values of optional arguments that are what the operator does without them."""


def own_arguments(operator: Operator, arguments: Arguments) -> Arguments:
    """Returns an operator's arguments without those that place the result or change nothing."""
    optional = {parameter.name for parameter in operator.parameters if not parameter.required}
    return {
        name: value
        for name, value in arguments.items()
        if (name not in PLACEMENT or isinstance(value, Device) and name not in optional)
        and not (name in optional and value in USUAL)
    }
