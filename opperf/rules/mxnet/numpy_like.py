"""Operators of MXNet's NumPy interface without a shared family."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator
from opperf.rules.configurations import WHY
from opperf.rules.engine import OUTPUT
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.registering import Families
from opperf.rules.shapes import square, tall
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
    median = "the median of each column, as to fill a feature's gaps"
    yield {"a": fixed(*square(size)), "q_scalar": 50.0, "axis": (0,), WHY: median}
    quartiles = (25.0, 50.0, 75.0)
    yield {
        "a": fixed(*square(size)),
        "q": fixed(len(quartiles), fill=literal(quartiles)),
        "axis": (1,),
        WHY: "the quartiles of each row, as box plots show",
    }


@FAMILIES.add("_npx_constraint_check")
def constraint_check(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A mask that is set everywhere, so that the check cannot end early."""
    for shape, why in (
        (square(size), "long rows that are all true, as a distribution checks its parameters"),
        (tall(size), "many short rows that are all true, as it checks its samples"),
    ):
        yield {"input": fixed(*shape, fill=Fill("constant", 1.0), dtype="bool"), WHY: why}


@FAMILIES.add("_npi_fill_diagonal")
def fill_diagonal(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A number, and the matrix whose diagonal is filled in place: of a separate output the operator
    would write the diagonal alone."""
    written = fixed(*square(size))
    why = "a diagonal overwritten, as the distance of each point to itself"
    yield {"a": written, "val": (FACTOR,), OUTPUT: same(written, "a"), WHY: why}
