"""Products, norms and Fourier transforms in forms that NumPy alone has."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.engine import Families
from opperf.rules.families.linalg import EINSUMS, definite, matrix_to_diagonalise
from opperf.rules.numpy.names import Variants, own
from opperf.rules.shapes import Shape, cube, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, tensors

FAMILIES = Families()

COMPLEX = "complex64"
"""Dtype of a spectrum, the input of inverse transforms."""

NORMS: dict[str, Variants] = {
    "linalg.cond": lambda size: [
        {"x": definite(matrix_to_diagonalise(size)), "p": norm} for norm in (None, "fro")
    ],
    "linalg.norm": lambda size: [
        {"x": fixed(*square(size))},
        {"x": fixed(*square(size)), "ord": 1, "axis": 0},
        {"x": fixed(*tall(size)), "ord": 2, "axis": 1},
        {"x": fixed(*matrix_to_diagonalise(size)), "ord": "nuc"},
    ],
    "linalg.matrix_norm": lambda size: [
        {"x": fixed(*square(size)), "ord": "fro"},
        {"x": fixed(*matrix_to_diagonalise(size)), "ord": "nuc"},
    ],
    "linalg.vector_norm": lambda size: [
        {"x": fixed(*square(size))},
        {"x": fixed(*tall(size)), "axis": 1, "ord": 1},
    ],
    "linalg.svdvals": lambda size: [
        {"x": fixed(*shape)} for shape in (matrix_to_diagonalise(size), tall(size))
    ],
}


@FAMILIES.add(*NORMS)
def norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Matrices, for norms of the whole, of rows and columns, and of singular values."""
    return own(NORMS, operator, size)


@FAMILIES.add("einsum_path")
def einsum_path(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The inputs of `einsum`, for the order of its products."""
    matrices = tensors([fixed(*matrix_to_diagonalise(size))] * 2)
    for subscripts in EINSUMS:
        yield {"subscripts": subscripts, "operands": matrices}


STACKED: dict[str, Variants] = {
    "matvec": lambda size: [
        {"x1": fixed(*shape), "x2": fixed(*shape[:-2], shape[-1])}
        for shape in (square(size), cube(size))
    ],
    "vecmat": lambda size: [
        {"x1": fixed(*shape[:-1]), "x2": fixed(*shape)} for shape in (square(size), cube(size))
    ],
    **dict.fromkeys(
        ("vecdot", "linalg.vecdot"),
        lambda size: [
            {"x1": fixed(*shape), "x2": fixed(*shape)} for shape in (square(size), vector(size))
        ],
    ),
    **dict.fromkeys(
        ("linalg.diagonal", "linalg.matrix_transpose", "linalg.trace", "matrix_transpose"),
        lambda size: [{"x": fixed(*square(size))}, {"x": fixed(*cube(size))}],
    ),
}
"""NumPy 2's functions of matrices and vectors in the last axes."""


@FAMILIES.add(*STACKED)
def stacks(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One matrix or vector, and a stack of them."""
    return own(STACKED, operator, size)


def is_inverse(name: str) -> bool:
    """Whether a transform's input is a spectrum: complex numbers."""
    return name.startswith(("fft.i", "fft.hfft")) and name != "fft.ihfft"


def prime_below(length: int) -> int:
    """The largest prime below a length of at least 3."""
    return next(
        number
        for number in range(length - 1, 1, -1)
        if all(number % divisor for divisor in range(2, math.isqrt(number) + 1))
    )


def decimal_below(length: int) -> int:
    """The largest multiple of a power of ten below a length: 1000 below 1024, 60 below 64."""
    unit = int("1" + "0" * (len(str(length - 1)) - 1))
    return (length - 1) // unit * unit


@FAMILIES.category("fft")
def transform(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays to transform along one axis, two or three, by the function's name; for inverse
    transforms also a spectrum."""
    name, array = operator.name, operator.tensors[0].name
    rows, columns = square(size)
    shapes: tuple[tuple[Shape, str], ...] = (
        (square(size), "Many signals, a power of two long: radix 4 and 2"),
        (vector(size), "One long signal, which does not fit in the nearest cache"),
        ((rows, decimal_below(columns)), "A multiple of many tens, as sampled sound: radix 5 too"),
        ((rows, prime_below(columns)), "A prime length, which takes Bluestein's algorithm"),
    )
    if name.endswith("2"):
        shapes = ((square(size), "One picture"), (cube(size), "A stack of pictures"))
    elif name.endswith("n"):
        shapes = ((cube(size), "A volume"),)
    for shape, why in shapes:
        yield {array: fixed(*shape), WHY: why}
        if is_inverse(name):
            yield {array: fixed(*shape, dtype=COMPLEX), WHY: f"{why}, from its spectrum"}


@FAMILIES.add("fft.fftfreq", "fft.rfftfreq")
def frequencies(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The length and the sampling interval of a long signal."""
    yield {"n": vector(size)[0], "d": 1e-3}


@FAMILIES.add("fft.fftshift", "fft.ifftshift")
def centre(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Spectra, shifted along all axes and along one."""
    yield {"x": fixed(*square(size))}
    yield {"x": fixed(*square(size)), "axes": (1,)}
