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
from opperf.model import Device, DType, Number, Operator, TensorSpec, iter_tensors, map_tensors
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
    """Inputs of recorded training runs: the most frequent and the most expensive."""
    label = next(name for name in operator.names if name in LABELS)
    accepted = {parameter.name for parameter in operator.parameters}
    for made in configurations(LABELS[label], preset, LEAST):
        if accepted.issuperset(inputs_of(made)):
            yield made


def label_of(key: str) -> str:
    """Returns an overload's name in the registry, `relu.default`, for that in the dispatcher."""
    name = key.partition("::")[2]
    return name if "." in name else f"{name}.{DEFAULT_OVERLOAD}"


LABELS = {label_of(key): key for key in table()}
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
    if no run calls it. Inputs that are the same work at this size are one. Those whose largest
    tensor has fewer than `least` elements are omitted."""
    key = key_of(label)
    entries = [
        entry
        for entry in table().get(key, [])
        if elements(entry) >= least and entry.get(preset.name, {}) is not None
    ]
    operator = key.partition("::")[2].partition(".")[0]
    kinds: list[Arguments] = []
    made: list[Arguments] = []
    for entry, why in zip(entries, describe(entries, preset.name), strict=True):
        sized = {**entry["arguments"], **entry.get(preset.name, {})}
        arguments = with_gradients(operator, with_fills(operator, decode(sized)))
        kind = flat(arguments) if operator in ELEMENTWISE else arguments
        if kind not in kinds:
            kinds.append(kind)
            made.append({**arguments, WHY: why, ROW: f"{FILE}:{entry['line']}"})
    return made


ELEMENTWISE = (
    *("add_", "gelu_backward", "hardswish_backward", "leaky_relu", "leaky_relu_backward"),
    *("relu_", "threshold_backward"),
)
"""Operators with recorded inputs of several shapes, of which they read the elements alone."""


def flat(arguments: Arguments) -> Arguments:
    """Returns the arguments with contiguous tensors as vectors, if they are of one shape."""
    specs = [spec for value in arguments.values() for spec in iter_tensors(value)]
    if len({spec.shape for spec in specs}) > 1 or any(spec.strides for spec in specs):
        return arguments
    shape = (specs[0].size,)
    return {
        name: map_tensors(value, lambda spec: msgspec.structs.replace(spec, shape=shape))
        for name, value in arguments.items()
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
