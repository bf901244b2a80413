"""Products, norms and Fourier transforms in forms that NumPy alone has."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
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


@FAMILIES.category("fft")
def transform(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays to transform along one axis, two or three, by the function's name; for inverse
    transforms also a spectrum."""
    name, array = operator.name, operator.tensors[0].name
    shapes: tuple[Shape, ...] = (square(size), vector(size))
    if name.endswith("2"):
        shapes = (square(size), cube(size))
    elif name.endswith("n"):
        shapes = (cube(size),)
    for shape in shapes:
        yield {array: fixed(*shape)}
        if is_inverse(name):
            yield {array: fixed(*shape, dtype=COMPLEX)}


@FAMILIES.add("fft.fftfreq", "fft.rfftfreq")
def frequencies(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The length and the sampling interval of a long signal."""
    yield {"n": vector(size)[0], "d": 1e-3}


@FAMILIES.add("fft.fftshift", "fft.ifftshift")
def centre(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Spectra, shifted along all axes and along one."""
    yield {"x": fixed(*square(size))}
    yield {"x": fixed(*square(size)), "axes": (1,)}
