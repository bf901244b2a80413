"""Operations that create tensors or interpolate."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.engine import Families
from opperf.rules.shapes import line, shapes, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import between, fixed, literal, tensor

FAMILIES = Families()

WINDOWS = ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window")
BETA = 14.0
"""Of a Kaiser window, for side lobes some hundred decibels down."""


@FAMILIES.operation(*WINDOWS)
def window(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A window as long as a signal."""
    shape: Roles = {"beta": BETA} if "beta" in operation.inputs else {}
    yield {"length": vector(size)[0], **shape}


@FAMILIES.operation("eye")
def eye(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """An identity matrix, and a wider one with its diagonal moved."""
    rows, columns = square(size)
    yield {"rows": rows}
    yield {"rows": rows, "columns": 2 * columns, "offset": 1}


@FAMILIES.operation("tri", "tril_indices")
def triangle(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """As large as the matrices of other operations."""
    yield {"rows": square(size)[0]}


@FAMILIES.operation("indices")
def indices(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The indices of every element of a matrix."""
    yield {"shape": square(size)}


@FAMILIES.operation("arange")
def arange(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Numbers counted up from zero."""
    yield {"start": vector(size)[0]}


@FAMILIES.operation("linspace", "logspace")
def space_evenly(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Numbers at equal distances, or ratios."""
    yield {"start": 1, "stop": 4, "num": vector(size)[0]}


@FAMILIES.operation("full_like")
def full_like(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """One number, as often as a tensor has elements."""
    for shape in shapes(size):
        yield {"x": fixed(*shape), "value": 2.0}


@FAMILIES.operation("vandermonde")
def vandermonde(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A few powers of many numbers."""
    yield {"x": tensor(*line(size)), "columns": 4}


KNOTS = 64


@FAMILIES.operation("interpolate")
def interpolate(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Many points between known ones at 0, 1, 2 ..."""
    places = literal([float(i) for i in range(KNOTS)])
    yield {
        "x": fixed(*vector(size), fill=between(0, KNOTS - 1)),
        "known": fixed(KNOTS, fill=places, dtype="float64"),
        "values": fixed(KNOTS),
    }
