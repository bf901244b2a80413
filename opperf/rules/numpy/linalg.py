"""Products, decompositions, equations and Fourier transforms."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator, TensorSpec
from opperf.rules.engine import Families
from opperf.rules.numpy.names import Variants, own
from opperf.rules.shapes import Shape, cube, line, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import POSITIVE_DEFINITE, Arguments, fixed, tensors

FAMILIES = Families()

COMPLEX = "complex64"
"""Dtype of a spectrum, which inverse transforms begin with."""


def factored(size: Preset) -> Shape:
    """Shape of a matrix that is decomposed: the time grows as the cube of its side, and with
    512 is some tens of milliseconds."""
    return (size.extent(512, least=8),) * 2


def diagonalised(size: Preset) -> Shape:
    """Shape of a matrix whose eigenvalues or singular values are found: several times dearer
    than to factor it, so half the side."""
    return (size.extent(256, least=8),) * 2


def stacked(size: Preset) -> Shape:
    """Shape of a stack of small matrices. A determinant of more than 64 rows overflows."""
    return (size.batch, 64, 64)


def definite(shape: Shape) -> TensorSpec:
    """Symmetric positive definite matrices, with eigenvalues from 1 to 5."""
    return fixed(*shape, fill=POSITIVE_DEFINITE)


def each_definite(size: Preset) -> Iterable[Arguments]:
    """A matrix, and a stack of small ones."""
    return [{"a": definite(factored(size))}, {"a": definite(stacked(size))}]


def each_general(size: Preset) -> Iterable[Arguments]:
    """A square matrix, and one of many rows."""
    return [{"a": fixed(*diagonalised(size))}, {"a": fixed(*tall(size))}]


def folded(size: Preset) -> Shape:
    """Shape of a matrix of 576 rows with both its axes split into two."""
    side = size.extent(24, least=4)
    return (side, side, side, side)


DECOMPOSED: dict[str, Variants] = {
    **dict.fromkeys(("linalg.cholesky", "linalg.inv", "linalg.slogdet"), each_definite),
    "linalg.det": lambda size: [{"a": definite(stacked(size))}],
    **dict.fromkeys(
        ("linalg.eigh", "linalg.eigvalsh"), lambda size: [{"a": definite(diagonalised(size))}]
    ),
    **dict.fromkeys(
        ("linalg.eig", "linalg.eigvals"), lambda size: [{"a": fixed(*diagonalised(size))}]
    ),
    **dict.fromkeys(("linalg.pinv", "linalg.qr"), each_general),
    "linalg.svd": lambda size: [
        {"a": fixed(*diagonalised(size)), "full_matrices": True},
        {"a": fixed(*tall(size)), "full_matrices": False},
    ],
    "linalg.solve": lambda size: [
        {"a": definite(factored(size)), "b": fixed(*factored(size)[:1])},
        {"a": definite(factored(size)), "b": fixed(*factored(size))},
    ],
    "linalg.lstsq": lambda size: [
        {"a": fixed(*tall(size)), "b": fixed(*tall(size)[:1]), "rcond": None}
    ],
    "linalg.tensorsolve": lambda size: [{"a": fixed(*folded(size)), "b": fixed(*folded(size)[:2])}],
    "linalg.tensorinv": lambda size: [{"a": fixed(*folded(size)), "ind": 2}],
    "linalg.matrix_power": lambda size: [{"a": definite(factored(size)), "n": 5}],
    "linalg.matrix_rank": lambda size: [{"A": fixed(*diagonalised(size))}],
    "linalg.cond": lambda size: [
        {"x": definite(diagonalised(size)), "p": norm} for norm in (None, "fro")
    ],
    "linalg.norm": lambda size: [
        {"x": fixed(*square(size))},
        {"x": fixed(*square(size)), "ord": 1, "axis": 0},
        {"x": fixed(*tall(size)), "ord": 2, "axis": 1},
        {"x": fixed(*diagonalised(size)), "ord": "nuc"},
    ],
    "linalg.matrix_norm": lambda size: [
        {"x": fixed(*square(size)), "ord": "fro"},
        {"x": fixed(*diagonalised(size)), "ord": "nuc"},
    ],
    "linalg.vector_norm": lambda size: [
        {"x": fixed(*square(size))},
        {"x": fixed(*tall(size)), "axis": 1, "ord": 1},
    ],
    "linalg.svdvals": lambda size: [
        {"x": fixed(*shape)} for shape in (diagonalised(size), tall(size))
    ],
}


@FAMILIES.add(*DECOMPOSED)
def decomposed(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Matrices that have the decomposition: positive definite, or of full rank."""
    return own(DECOMPOSED, operator, size)


def products(size: Preset) -> Iterable[tuple[TensorSpec, TensorSpec]]:
    """Two matrices, and two vectors."""
    return [(fixed(*shape), fixed(*shape)) for shape in (square(size), vector(size))]


EINSUMS = ("ij,jk->ik", "ij,kj->ik", "ij,ij->i")
"""A product of matrices, one with the second transposed, and one row by row."""

MULTIPLIED: dict[str, Variants] = {
    **dict.fromkeys(
        ("dot", "inner", "vdot"), lambda size: [{"a": a, "b": b} for a, b in products(size)]
    ),
    "matvec": lambda size: [
        {"x1": fixed(*shape), "x2": fixed(*shape[:-2], shape[-1])}
        for shape in (square(size), cube(size))
    ],
    "vecmat": lambda size: [
        {"x1": fixed(*shape[:-1]), "x2": fixed(*shape)} for shape in (square(size), cube(size))
    ],
    **dict.fromkeys(
        ("vecdot", "linalg.vecdot"),
        lambda size: [{"x1": a, "x2": b} for a, b in products(size)],
    ),
    "linalg.matmul": lambda size: [
        {"x1": fixed(*shape), "x2": fixed(*shape)} for shape in (square(size), cube(size))
    ],
    "linalg.outer": lambda size: [{"x1": fixed(size.extent(2000)), "x2": fixed(size.extent(1000))}],
    "linalg.cross": lambda size: [{"x1": fixed(*line(size), 3), "x2": fixed(*line(size), 3)}],
    "linalg.tensordot": lambda size: [
        {"x1": fixed(*square(size)), "x2": fixed(*square(size)), "axes": 1},
        {"x1": fixed(*cube(size)), "x2": fixed(*cube(size)), "axes": ((0, 1), (0, 1))},
    ],
    **dict.fromkeys(
        ("linalg.diagonal", "linalg.matrix_transpose", "linalg.trace"),
        lambda size: [{"x": fixed(*square(size))}, {"x": fixed(*cube(size))}],
    ),
    "matmul": lambda size: [
        {"x1": a, "x2": b} for a, b in (*products(size), (fixed(*cube(size)), fixed(*cube(size))))
    ],
    "outer": lambda size: [{"a": fixed(size.extent(2000)), "b": fixed(size.extent(1000))}],
    "kron": lambda size: [
        {"a": fixed(size.extent(64, least=4), 32), "b": fixed(32, size.extent(32, least=4))}
    ],
    "cross": lambda size: [{"a": fixed(*line(size), 3), "b": fixed(*line(size), 3)}],
    "tensordot": lambda size: [
        {"a": fixed(*square(size)), "b": fixed(*square(size)), "axes": 1},
        {"a": fixed(*cube(size)), "b": fixed(*cube(size)), "axes": ((0, 1), (0, 1))},
    ],
    **dict.fromkeys(
        ("einsum", "einsum_path"),
        lambda size: [
            {
                "subscripts": subscripts,
                "operands": tensors([fixed(*diagonalised(size)), fixed(*diagonalised(size))]),
            }
            for subscripts in EINSUMS
        ],
    ),
    "linalg.multi_dot": lambda size: [
        {"arrays": tensors([fixed(*square(size)), fixed(*square(size)), fixed(square(size)[0], 1)])}
    ],
}


@FAMILIES.add(*MULTIPLIED)
def multiplied(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Matrices, vectors and stacks of matrices that go together."""
    return own(MULTIPLIED, operator, size)


def is_inverse(name: str) -> bool:
    """Whether a transform's input is a spectrum: complex numbers."""
    return name.startswith(("fft.i", "fft.hfft")) and name != "fft.ihfft"


@FAMILIES.category("fft")
def transform(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One axis of a matrix and of a long vector, two axes, or three, as the name says; from a
    spectrum for inverse transforms."""
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
    """The frequencies of a long vector's transform, sampled a thousand times a second."""
    yield {"n": vector(size)[0], "d": 1e-3}


@FAMILIES.add("fft.fftshift", "fft.ifftshift")
def centred(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A spectrum with its middle moved to the front, or back."""
    yield {"x": fixed(*square(size))}
    yield {"x": fixed(*square(size)), "axes": (1,)}
