"""Operators of MXNet's NumPy interface that the other families have no equal of."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator
from opperf.rules.engine import OUTPUT, Families
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.shapes import shapes, square, vector, wide
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    PROBABILITY,
    SEQUENCE,
    Arguments,
    below,
    fixed,
    literal,
    same,
    tensor,
)

FAMILIES = Families()

WHOLE, DOUBLE = "int32", "float64"
"""Types that operators insist on."""


@FAMILIES.add("_npi_average")
def average(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """With weights, along the first axis, the second and both."""
    axes: tuple[Arguments, ...] = ({"axis": (0,)}, {"axis": (1,)}, {})
    for shape, axis in zip(wide(size), axes, strict=True):
        yield {
            "a": tensor(*shape),
            "weights": tensor(*shape, fill=PROBABILITY),
            "weighted": True,
            **axis,
        }


@FAMILIES.add("_npi_bincount")
def bincount(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """How often each of a thousand numbers occurs."""
    yield {"data": fixed(*vector(size), fill=below(size.extent(1000)), dtype=WHOLE)}


@FAMILIES.add("_npi_diff")
def diff(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Differences of neighbours in each row, in each column, and differences of those."""
    for axis, times in ((1, 1), (0, 1), (1, 2)):
        yield {"a": tensor(*square(size)), "n": times, "axis": axis}


@FAMILIES.add("_npi_ediff1d")
def ediff1d(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Differences of neighbours in a vector."""
    yield {"input1": tensor(*vector(size))}


@FAMILIES.add("_npi_percentile")
def percentile(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The median of each column, and quartiles of each row."""
    yield {"a": fixed(*square(size)), "q_scalar": 50.0, "axis": (0,)}
    quartiles = (25.0, 50.0, 75.0)
    yield {
        "a": fixed(*square(size)),
        "q": fixed(len(quartiles), fill=literal(quartiles)),
        "axis": (1,),
    }


@FAMILIES.add("_npx_constraint_check")
def constraint_check(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A constraint that holds everywhere: the check cannot end early."""
    for shape in shapes(size):
        yield {"input": fixed(*shape, fill=Fill("constant", 1.0), dtype="bool")}


@FAMILIES.add("_npi_cross")
def cross(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Products of vectors of three elements."""
    (count,) = vector(size)
    yield {"a": tensor(count, 3), "b": tensor(count, 3)}


@FAMILIES.add("_npi_fill_diagonal")
def fill_diagonal(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One number along the diagonal, in place: of an output of its own, which is what the
    operator would make, it writes nothing else."""
    written = fixed(*square(size))
    yield {"a": written, "val": (FACTOR,), OUTPUT: same(written, "a")}


@FAMILIES.add("_npi_interp")
def interp(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Many points between the points of a line; the operator works in float64 only."""
    knots = size.extent(1024)
    yield {
        "xp": fixed(knots, fill=SEQUENCE, dtype=DOUBLE),
        "fp": fixed(knots, dtype=DOUBLE),
        "x": fixed(*vector(size), fill=Fill("uniform", 0.0, float(knots)), dtype=DOUBLE),
    }


@FAMILIES.add("_npi_full_like")
def full_like(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One number, as often as a tensor has elements."""
    for shape in shapes(size):
        yield {"a": fixed(*shape), "fill_value": FACTOR}


@FAMILIES.add("_npi_eye", "_npi_tri")
def eye(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix of zeros and ones."""
    rows, columns = square(size)
    yield {"N": rows, "M": columns, "k": 0}


@FAMILIES.add("_npi_identity")
def identity(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """An identity matrix."""
    yield {"shape": square(size)}


@FAMILIES.add("_npi_tril_indices")
def tril_indices(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The indices of a matrix's lower triangle."""
    rows, columns = square(size)
    yield {"n": rows, "k": 0, "m": columns}


@FAMILIES.add("_npi_logspace")
def logspace(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Powers of ten at equal ratios."""
    yield {"start": 0.0, "stop": 3.0, "num": vector(size)[0]}
