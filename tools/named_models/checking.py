"""Holds configurations against recorded calls of the models that their reasons name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opperf.frameworks import load
from opperf.model import Argument, iter_tensors
from opperf.rules.callables import inputs_for_target
from opperf.rules.configurations import FORM, OUTSIDE, PAPER
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import PRESETS
from tools.named_models import Call

CONVOLUTION = re.compile(r"conv(?!ert)", re.IGNORECASE)
POOLING = re.compile(r"(max|avg|adaptive\w*)_?pool|reduce_window|(?<!ROI)pooling", re.IGNORECASE)

FREE = 1
"""Axes in front whose extents are of the run and not of the model: the batch."""

TOKENS = frozenset({1, 128, 256, 512, 1024, 2048})
"""Extents that may be a text's length, which is of the run as well."""

EXPLAINED = (OUTSIDE, PAPER, FORM)
"""Tags of rows whose call is not in a package's forward pass, with the meanings of
`opperf.rules.configurations`."""


class Row(NamedTuple):
    """A configuration that names a model."""

    operator: str
    why: str
    model: str
    arguments: Mapping[str, Argument]
    tags: tuple[str, ...] = ()

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of its tensors but for options, which have given values, and for a number for each of the
        batch."""
        every = [one for value in self.arguments.values() for one in iter_tensors(value)]
        specs = [one for one in every if one.fill.distribution != "literal"]
        longest = max((one.shape for one in specs), key=len, default=())
        batch = longest[:FREE] if len(longest) > FREE else None
        return [one.shape for one in specs if one.size > 1 and one.shape != batch]


def named_rows(framework: str, models: Sequence[str]) -> Iterator[Row]:
    """Yields the configurations of a framework's rules whose reason names a model. Recorded ones
    are calls of models already."""
    loaded = load(framework)
    for operator in loaded.operators():
        if not operator.is_usual:
            continue
        made = inputs_for_target(loaded, operator.target, operator, PRESETS["default"], "float32")
        for one in () if isinstance(made, NoInputs) else made:
            model = model_in(one.why, models)
            if model and "recorded" not in one.origin:
                yield Row(operator.label, one.why, model, one.arguments, one.tags)


def model_in(why: str, models: Sequence[str]) -> str:
    """Returns the longest of the models' names in a line of why; empty if there is none."""
    found = [one for one in models if re.search(rf"(?<![\w-]){re.escape(one)}(?![\w]|-\d)", why)]
    return max(found, key=len, default="")


GEOMETRY = {
    "stride": ("stride", "window_strides", "strides"),
    "dilation": ("dilation", "rhs_dilation", "dilate"),
    "groups": ("groups", "feature_group_count", "num_group"),
    "kernel_size": ("kernel_size", "kernel"),
}
"""Names of a window's values, by PyTorch's."""
BORDERS = ("padding", "pad")


def agrees(row: Row, calls: Sequence[Call]) -> bool:
    """Whether the model has such a call: a convolution of this weight, map and window, pooling of
    this map and window, and for other operators tensors of these shapes but for the batch."""
    if CONVOLUTION.search(row.operator):
        windows = [one for one in calls if "conv" in one["operator"] and _is_same_window(row, one)]
        return any(_is_same_convolution(row, one) for one in windows)
    if POOLING.search(row.operator):
        pools = [one for one in calls if "pool" in one["operator"] or one["operator"] == "mean"]
        windows = [one for one in pools if _is_same_window(row, one)]
        return any(_is_same_map(row.shapes, one["shapes"]) for one in windows)
    shapes = [shape for call in calls for shape in (*call["shapes"], *call["results"])]
    known = {extents for shape in shapes for extents in (_own(shape), _own(shape, free=0))}
    own = [{_own(shape), _own(shape, free=0)} for shape in row.shapes if _own(shape)]
    if own:
        return all(extents & known for extents in own)
    # All extents may be lengths, and none is.
    features = {extents for shape in row.shapes if (extents := _features(shape))}
    return bool(features) and features <= set(map(_features, shapes))


def _is_same_window(row: Row, call: Call) -> bool:
    """Whether the borders are the same, and the values of a window that both a row and a call
    name."""
    for name, names in GEOMETRY.items():
        own = next((row.arguments[one] for one in names if one in row.arguments), None)
        other = call["values"].get(name)
        if own is not None and other and _numbers(own) != _numbers(other):
            return False
    own_border, border = _borders(row, call)
    return own_border == border


def _borders(row: Row, call: Call) -> tuple[list[Any] | None, list[Any] | None]:
    """Returns the sides of a row's border and of a call's that are not zero; None of both where
    they cannot be compared: JAX's transposed convolutions count from the result, a border of
    `SAME` follows from the map where there is a stride, and averages over all have none."""
    own = next((row.arguments[name] for name in BORDERS if name in row.arguments), 0)
    other = call["values"].get("padding")
    strides = _numbers(call["values"].get("stride", 1))
    is_same = isinstance(own, str) and own.lower() == "same"
    if other is None or "transpose" in row.operator or (is_same and strides):
        return None, None
    is_convolution = "conv" in call["operator"]
    axes = len(call["shapes"][0]) - 2
    window = call["shapes"][1][2:] if is_convolution else call["values"].get("kernel_size", 1)
    dilation = call["values"].get("dilation", 1)
    reach = [
        step * (extent - 1)
        for step, extent in zip(_each(dilation, axes), _each(window, axes), strict=True)
    ]
    return _sides(own, axes, reach), _sides(other, axes, reach)


def _each(value: Any, axes: int) -> list[Any]:
    """Returns the value of each axis, of one for all or a list."""
    every = list(value) if isinstance(value, (list, tuple)) else [value]
    return every * axes if len(every) == 1 else every


def _sides(value: Any, axes: int, reach: Sequence[int]) -> list[Any]:
    """Returns the sides of a border but for zeros: a number of each axis, or a pair where its ends
    differ. `reach` has how far the window goes from its first element, which `same` makes up."""
    if isinstance(value, str):
        every = [one // 2 for one in reach] if value.lower() == "same" else []
    else:
        every = _each(value, axes)
    ends = [one if isinstance(one, int) or one[0] != one[1] else one[0] for one in every]
    return sorted((one for one in ends if one), key=str)


def _numbers(value: Any) -> tuple[Any, ...]:
    """Returns the numbers of a window but for ones, which windows of all axes have for the batch
    and the channels."""
    every = value if isinstance(value, (list, tuple)) else (value,)
    return tuple(one for one in every if one != 1)


def explained(row: Row) -> bool:
    """Whether a row is right although no call of its model's forward pass is like it."""
    return not {*EXPLAINED}.isdisjoint(row.tags)


def _own(shape: Sequence[int], free: int = FREE) -> tuple[int, ...]:
    """Returns what of a shape is the model's, in any order of the axes."""
    extents = shape[free:] if len(shape) > FREE else shape
    return tuple(sorted(one for one in extents if one not in TOKENS))


def _features(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the extents of a shape above one, but for the batch."""
    extents = shape[FREE:] if len(shape) > FREE else shape
    return tuple(sorted(one for one in extents if one > 1))


def _is_same_map(own: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> bool:
    return any(sorted(a[FREE:]) == sorted(b[FREE:]) for a in own[:2] for b in other[:1])


def _is_same_convolution(row: Row, call: Call) -> bool:
    every = [one for value in row.arguments.values() for one in iter_tensors(value)]
    tensors = [list(one.shape) for one in every]
    inputs, weight = call["shapes"][:2]
    if sorted(weight) not in map(sorted, tensors):
        return False
    return any(sorted(one[FREE:]) == sorted(inputs[FREE:]) for one in tensors)


def nearest_calls(row: Row, calls: Sequence[Call], number: int = 4) -> list[str]:
    """Returns calls of the model that a reader may compare with a row that differs."""
    kind = "conv" if CONVOLUTION.search(row.operator) else row.operator.split(".")[-1].split("_")[0]
    alike = [one for one in calls if kind in one["operator"]] or list(calls)
    wanted = {extent for shape in row.shapes for extent in shape}

    def common(call: Call) -> int:
        return len(wanted & {extent for shape in call["shapes"] for extent in shape})

    best = sorted(alike, key=common, reverse=True)[:number]
    return [f"{one['operator']} {one['shapes']} {one['values']}" for one in best]
