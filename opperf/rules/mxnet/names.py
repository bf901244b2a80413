"""Default values by argument name and kind, of names with the same meaning in every operator."""

from __future__ import annotations

from opperf.model import Argument, Fill, Kind, Operator, TensorSpec
from opperf.rules.engine import Alternatives
from opperf.rules.shapes import LIST_LENGTH, Shape, shapes
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, NORMAL, POSITIVE, REQUESTED, fixed, tensor, tensors

FACTOR = 2.0
"""The scalar of operators of a tensor and a number."""


def matrices(fill: Fill = NORMAL, dtype: str = REQUESTED, gradient: bool = True) -> Alternatives:
    """The alternatives of a tensor: one of each of `shapes`."""

    def alternatives(operator: Operator, size: Preset) -> list[Argument]:
        return [tensor(*shape, fill=fill, dtype=dtype, gradient=gradient) for shape in shapes(size)]

    return alternatives


def lists(operator: Operator, size: Preset) -> list[Argument]:
    """The alternatives of a list of tensors: one of each of `shapes`."""
    return [alike(shape) for shape in shapes(size)]


def alike(shape: Shape, fill: Fill = NORMAL, gradient: bool = True) -> tuple[TensorSpec, ...]:
    """A list of tensors of one shape."""
    return tensors([tensor(*shape, fill=fill, gradient=gradient)] * LIST_LENGTH)


def always(value: Argument) -> Alternatives:
    """The one alternative of an argument that depends on neither operator nor size."""
    return lambda operator, size: [value]


def conditions(operator: Operator, size: Preset) -> list[Argument]:
    """The alternatives of a mask of zeros and ones: one of each of `shapes`."""
    return [fixed(*shape, fill=BOOLEAN) for shape in shapes(size)]


TENSORS = ("data", "lhs", "rhs", *"ab", "x", "x1", "x2", "y", "arr", "ary", "array", "input", *"vm")
LISTS = ("args", "arrays", "arys", "seq", "tup")
COUNTERS = ("num_args", "num_arrays")

TABLE: dict[tuple[str, Kind], Alternatives] = {
    **{(name, Kind.TENSOR): matrices() for name in TENSORS},
    **{(name, Kind.TENSORS): lists for name in ("data", *LISTS)},
    **{(name, Kind.INT): always(LIST_LENGTH) for name in COUNTERS},
    ("weights", Kind.TENSOR): matrices(POSITIVE),
    ("condition", Kind.TENSOR): conditions,
    ("mask", Kind.TENSOR): conditions,
    ("axis", Kind.INT): always(0),
    ("axis", Kind.SHAPE): always((0,)),
    ("axes", Kind.INT): always(1),
    ("scalar", Kind.FLOAT): always(FACTOR),
    ("decimals", Kind.INT): always(1),
    ("num_outputs", Kind.INT): always(LIST_LENGTH),
}

OPTIONAL_TENSORS: frozenset[str] = frozenset(
    {"length", "sequence_length", "data_lengths", "label_lengths", "state_cell"}
)
"""Tensors that an operator takes only when another argument enables them."""
