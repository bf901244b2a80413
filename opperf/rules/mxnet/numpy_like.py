"""Operators of MXNet's NumPy interface without a shared family."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator
from opperf.rules.engine import OUTPUT, Families
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.shapes import shapes, square
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    Arguments,
    fixed,
    literal,
    same,
)

FAMILIES = Families()

WHOLE, DOUBLE = "int32", "float64"
"""Dtypes that operators require."""


@FAMILIES.add("_npi_percentile")
def percentile(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, for the median of each column, and for the quartiles of each row."""
    yield {"a": fixed(*square(size)), "q_scalar": 50.0, "axis": (0,)}
    quartiles = (25.0, 50.0, 75.0)
    yield {
        "a": fixed(*square(size)),
        "q": fixed(len(quartiles), fill=literal(quartiles)),
        "axis": (1,),
    }


@FAMILIES.add("_npx_constraint_check")
def constraint_check(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A mask that is set everywhere, so that the check cannot end early."""
    for shape in shapes(size):
        yield {"input": fixed(*shape, fill=Fill("constant", 1.0), dtype="bool")}


@FAMILIES.add("_npi_fill_diagonal")
def fill_diagonal(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A number, and the matrix whose diagonal is filled in place: of a separate output the operator
    would write the diagonal alone."""
    written = fixed(*square(size))
    yield {"a": written, "val": (FACTOR,), OUTPUT: same(written, "a")}
