"""Writing into a tensor that is given: the operator's output is its first input."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.engine import OUTPUT, Families
from opperf.rules.mxnet.indexing import PERMUTATION, indices
from opperf.rules.mxnet.names import column, shapes, square
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, Arguments, fixed, same

FAMILIES = Families()


@FAMILIES.add("_scatter_set_nd")
def scatter_set_nd(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Single elements, and whole rows, no row twice."""
    rows, columns = square(size)
    count, _ = column(size)
    written = fixed(rows, columns)
    yield {
        "lhs": written,
        "rhs": fixed(count),
        "indices": indices(2, count, limit=min(rows, columns)),
        "shape": (rows, columns),
        OUTPUT: same(written, "lhs"),
    }
    yield {
        "lhs": written,
        "rhs": fixed(rows, columns),
        "indices": fixed(1, rows, fill=PERMUTATION, dtype="int32"),
        "shape": (rows, columns),
        OUTPUT: same(written, "lhs"),
    }


@FAMILIES.add("_npi_boolean_mask_assign_scalar")
def mask_assign_scalar(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One value to half of the elements."""
    for shape in shapes(size):
        written = fixed(*shape)
        yield {
            "data": written,
            "mask": fixed(*shape, fill=BOOLEAN, dtype="bool"),
            "value": 0.5,
            "start_axis": 0,
            OUTPUT: same(written, "data"),
        }


@FAMILIES.add("_npi_boolean_mask_assign_tensor")
def mask_assign_tensor(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One value, as a tensor, to half of the elements."""
    for shape in shapes(size):
        written = fixed(*shape)
        yield {
            "data": written,
            "mask": fixed(*shape, fill=BOOLEAN, dtype="bool"),
            "value": fixed(1),
            "start_axis": 0,
            OUTPUT: same(written, "data"),
        }
