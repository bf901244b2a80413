"""Operations that create tensors or interpolate."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.dependencies import ascending
from opperf.rules.registering import Families
from opperf.rules.shapes import line, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import SEQUENCE, between, fixed, literal, tensor

FAMILIES = Families()

WINDOWS = ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window")
BETA = 14.0
"""Parameter of a Kaiser window whose side lobes are about 100 dB down."""


@FAMILIES.operation(*WINDOWS)
def window(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The length of a window, that of a long signal, and its parameter if it has one."""
    shape: Roles = {"beta": BETA} if "beta" in operation.inputs else {}
    why = "a window as long as a signal, before its Fourier transform"
    yield {"length": vector(size)[0], **shape, WHY: why}


@FAMILIES.operation("eye")
def eye(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The extents of a square matrix, and of a wider one with an offset diagonal."""
    rows, columns = square(size)
    yield {"rows": rows, WHY: "an identity matrix, as is added to a covariance matrix"}
    wide = "a wide matrix with ones beside the diagonal, as a shift by one step"
    yield {"rows": rows, "columns": 2 * columns, "offset": 1, WHY: wide}


TRIANGLES = {
    "tri": "the lower triangle of a large matrix, for a mask of causal attention",
    "tril_indices": "the lower triangle of a large matrix, for a mask of causal attention",
    "triu_indices": "the upper triangle of a large matrix, as each pair of points once",
}
"""Why a triangle is made, by operation."""


@FAMILIES.operation(*TRIANGLES)
def triangle(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The rows of a matrix as large as those of other operations."""
    yield {"rows": square(size)[0], WHY: TRIANGLES[operation.name]}


@FAMILIES.operation("indices")
def indices(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The shape of the matrix whose indices are made."""
    yield {"shape": square(size), WHY: "the row and the column of each point of a grid"}


@FAMILIES.operation("arange")
def arange(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The limit of numbers counted up from zero."""
    yield {"start": vector(size)[0], WHY: "numbers counted up, as the indices of a data set"}


SPACED = {
    "linspace": "points at equal distances, as a function is sampled",
    "logspace": "points at equal ratios, as the frequencies of a spectrum",
}
"""Why many numbers are created, by operation."""


@FAMILIES.operation(*SPACED)
def space_evenly(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The ends and the count of numbers at equal distances, or ratios."""
    yield {"start": 1, "stop": 4, "num": vector(size)[0], WHY: SPACED[operation.name]}


@FAMILIES.operation("full_like")
def full_like(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A tensor, and the number to fill its shape with."""
    for shape, why in (
        (square(size), "a matrix set to one number, as the state that a solver begins with"),
        (tall(size), "many short rows set to one number, as the share of each class in smoothing"),
    ):
        yield {"x": fixed(*shape), "value": 2.0, WHY: why}


@FAMILIES.operation("vandermonde")
def vandermonde(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Many numbers, and how many powers of them to compute."""
    why = "few powers of many numbers, as to fit a polynomial of degree 3"
    yield {"x": tensor(*line(size)), "columns": 4, WHY: why}


KNOTS, RATE = 64, 4


@FAMILIES.operation("interpolate")
def interpolate(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Many points to interpolate at, and values at 0, 1, 2 ..."""
    places = literal([float(i) for i in range(KNOTS)])
    yield {
        "x": fixed(*vector(size), fill=between(0, KNOTS - 1)),
        "known": fixed(KNOTS, fill=places, dtype="float64"),
        "values": fixed(KNOTS),
        WHY: "many points in a short table, as a calibration or a curve of colours",
    }
    last = RATE * (line(size)[0] - 1)
    yield {
        "x": fixed(last + 1, fill=SEQUENCE),
        "known": fixed(*line(size), fill=ascending(0, last)),
        "values": fixed(*line(size)),
        WHY: "a signal at four times its rate: in order, each search begins where the last ended",
    }
