"""Operators that update their first input in place: it is their output."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.engine import OUTPUT
from opperf.rules.families.indexing import masked
from opperf.rules.mxnet.indexing import scatter_targets
from opperf.rules.registering import Families
from opperf.rules.shapes import square
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, Arguments, fixed, same

FAMILIES = Families()


@FAMILIES.add("_scatter_set_nd")
def scatter_set_nd(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Single elements, one in each row and column, and whole rows."""
    shape = square(size)
    written = fixed(*shape)
    for values, places, why in scatter_targets(shape):
        yield {
            "lhs": written,
            "rhs": fixed(*values),
            "indices": places,
            "shape": shape,
            OUTPUT: same(written, "lhs"),
            WHY: why,
        }


@FAMILIES.add("_npi_boolean_mask_assign_scalar")
def mask_assign_scalar(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A number, written to half of the elements."""
    for shape, why in masked(size):
        written = fixed(*shape)
        yield {
            "data": written,
            "mask": fixed(*shape, fill=BOOLEAN, dtype="bool"),
            "value": 0.5,
            "start_axis": 0,
            OUTPUT: same(written, "data"),
            WHY: why,
        }


@FAMILIES.add("_npi_boolean_mask_assign_tensor")
def mask_assign_tensor(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor of one element, written to half of the elements."""
    for shape, why in masked(size):
        written = fixed(*shape)
        yield {
            "data": written,
            "mask": fixed(*shape, fill=BOOLEAN, dtype="bool"),
            "value": fixed(1),
            "start_axis": 0,
            OUTPUT: same(written, "data"),
            WHY: why,
        }
