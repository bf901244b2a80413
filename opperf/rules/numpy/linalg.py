"""Products, norms and Fourier transforms in forms that NumPy alone has."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.families.linalg import EINSUMS, definite, matrix_to_diagonalise
from opperf.rules.numpy.names import COMPLEX
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, cube, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, tensors
from opperf.rules.variants import Variants, own

FAMILIES = Families()

NUCLEAR = "sum of singular values (nuclear), as the penalty of matrix completion"

NORMS: dict[str, Variants] = {
    "linalg.cond": lambda size: [
        {"x": definite(matrix_to_diagonalise(size)), "p": norm, WHY: why}
        for norm, why in (
            (None, "in the 2-norm, as before a system is solved: by singular values"),
            ("fro", "in the Frobenius norm, a cheaper bound of the other: by the inverse"),
        )
    ],
    "linalg.norm": lambda size: [
        {"x": fixed(*square(size)), WHY: "of all elements, as to clip a gradient: a dot product"},
        {
            "x": fixed(*square(size)),
            "ord": 1,
            "axis": 0,
            WHY: "sum of absolute values of each column, as to prune a layer's units",
        },
        {
            "x": fixed(*tall(size)),
            "ord": 2,
            "axis": 1,
            WHY: "length of each row, as to normalise embeddings",
        },
        {"x": fixed(*matrix_to_diagonalise(size)), "ord": "nuc", WHY: NUCLEAR},
    ],
    "linalg.matrix_norm": lambda size: [
        {
            "x": fixed(*square(size)),
            "ord": "fro",
            WHY: "of all elements (Frobenius), as a penalty on a layer's weights",
        },
        {"x": fixed(*matrix_to_diagonalise(size)), "ord": "nuc", WHY: NUCLEAR},
    ],
    "linalg.vector_norm": lambda size: [
        {"x": fixed(*square(size)), WHY: "length of a matrix as one vector, as to clip a gradient"},
        {
            "x": fixed(*tall(size)),
            "axis": 1,
            "ord": 1,
            WHY: "sum of absolute values of each row, as to turn counts into shares",
        },
    ],
    "linalg.svdvals": lambda size: [
        {
            "x": fixed(*matrix_to_diagonalise(size)),
            WHY: "a square matrix, as a layer's weights whose spectral norm is limited",
        },
        {
            "x": fixed(*tall(size)),
            WHY: "many rows and few columns, as data by its principal components",
        },
    ],
}


@FAMILIES.add(*NORMS)
def norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Matrices, for norms of the whole, of rows and columns, and of singular values."""
    return own(NORMS, operator, size)


PATHS = (
    "a product of two matrices, which goes to BLAS: time of Python alone",
    "the second matrix transposed, as keys by queries: BLAS too",
    "row by row, as scores of pairs of embeddings: one index stays in both",
)
"""Why each of `EINSUMS` is an input. Each is one product, with no order to choose."""


@FAMILIES.add("einsum_path")
def einsum_path(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The inputs of `einsum`, for the order of its products."""
    matrices = tensors([fixed(*matrix_to_diagonalise(size))] * 2)
    for subscripts, why in zip(EINSUMS, PATHS, strict=True):
        yield {"subscripts": subscripts, "operands": matrices, WHY: why}


def of_matrices(one: str, stack: str) -> Variants:
    """The configurations of a function of one array: a matrix, and a stack, each with why."""
    return lambda size: [
        {"x": fixed(*square(size)), WHY: one},
        {"x": fixed(*cube(size)), WHY: stack},
    ]


STACKED: dict[str, Variants] = {
    "matvec": lambda size: [
        {"x1": fixed(*shape), "x2": fixed(*shape[:-2], shape[-1]), WHY: why}
        for shape, why in (
            (square(size), "a matrix by one vector, as a dense layer of one sample"),
            (cube(size), "each matrix of a stack by its vector, as keys by a query"),
        )
    ],
    "vecmat": lambda size: [
        {"x1": fixed(*shape[:-1]), "x2": fixed(*shape), WHY: why}
        for shape, why in (
            (square(size), "a vector by one matrix, as a step of a Markov chain"),
            (cube(size), "each vector by a matrix of a stack, as weights of attention by values"),
        )
    ],
    **dict.fromkeys(
        ("vecdot", "linalg.vecdot"),
        lambda size: [
            {"x1": fixed(*shape), "x2": fixed(*shape), WHY: why}
            for shape, why in (
                (square(size), "row by row, as scores of pairs of embeddings"),
                (vector(size), "two long vectors, as a step of conjugate gradients"),
            )
        ],
    ),
    "linalg.diagonal": of_matrices(
        "a matrix's diagonal, as the variances of a covariance: a view",
        "the diagonals of a stack, as of a batch of covariances: a view",
    ),
    **dict.fromkeys(
        ("linalg.matrix_transpose", "matrix_transpose"),
        of_matrices(
            "a matrix, as a layer's weights: a view",
            "each matrix of a stack, as the keys of attention: a view",
        ),
    ),
    "linalg.trace": of_matrices(
        "a matrix, as the degrees of freedom of a smoother",
        "each matrix of a stack, as the total variances of a batch of covariances",
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
    transforms spectra."""
    name, array = operator.name, operator.tensors[0].name
    rows, columns = square(size)
    shapes: tuple[tuple[Shape, str], ...] = (
        (square(size), "frames of sound, a power of two long: radix 4 and 2"),
        (vector(size), "one long signal, which does not fit in the nearest cache"),
        ((rows, decimal_below(columns)), "a multiple of many tens, as sampled sound: radix 5 too"),
        ((rows, prime_below(columns)), "a prime length, as a cut recording: Bluestein's algorithm"),
    )
    if name.endswith("2"):
        pictures = "a stack of small pictures, as the slices of a scan"
        shapes = ((square(size), "one large picture, as to blur it"), (cube(size), pictures))
    elif name.endswith("n"):
        shapes = ((cube(size), "a volume, as a crystal's density"),)
    for shape, why in shapes:
        if is_inverse(name):
            yield {array: fixed(*shape, dtype=COMPLEX), WHY: f"the spectrum of {why}"}
        else:
            yield {array: fixed(*shape), WHY: why}


@FAMILIES.add("fft.fftfreq", "fft.rfftfreq")
def frequencies(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The length and the sampling interval of a long signal."""
    yield {"n": vector(size)[0], "d": 1e-3, WHY: "one long signal's, as the axis of a plot"}


@FAMILIES.add("fft.fftshift", "fft.ifftshift")
def centre(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Spectra, shifted along all axes and along one."""
    picture, signals = "along both axes, as a picture's", "along each row, as of many signals"
    yield {"x": fixed(*square(size)), WHY: f"{picture} spectrum: four blocks copied"}
    yield {"x": fixed(*square(size)), "axes": (1,), WHY: f"{signals}: halves of rows copied"}
