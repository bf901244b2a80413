"""Factorisations, systems of equations, and products of matrices and tensors."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, cube, line, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import INVERTIBLE, LOWER_TRIANGULAR, POSITIVE_DEFINITE, tensor, tensors

FAMILIES = Families()


def matrix_to_factor(size: Preset) -> Shape:
    """Shape of a matrix to factor: the time grows as the cube of its side, and is some tens of
    milliseconds at 512."""
    return (size.extent(512, least=8),) * 2


def matrix_to_diagonalise(size: Preset) -> Shape:
    """Shape of a matrix to diagonalise, which takes several times as long as to factor it: half the
    side."""
    return (size.extent(256, least=8),) * 2


def stack_of_matrices(size: Preset) -> Shape:
    """Shape of a stack of small matrices. A determinant of more than 64 rows overflows."""
    return (size.batch, 64, 64)


SIDES = 32
"""Right-hand sides of each of several systems of equations."""


def definite(shape: Shape) -> TensorSpec:
    """Symmetric positive definite matrices, with eigenvalues from 1 to 5."""
    return tensor(*shape, fill=POSITIVE_DEFINITE)


def invertible(shape: Shape) -> TensorSpec:
    """Matrices as well conditioned as the definite ones, whose rows elimination exchanges."""
    return tensor(*shape, fill=INVERTIBLE)


EXCHANGED = "a stack of matrices that are not symmetric, whose rows are exchanged"
"""What those of definite matrices are not."""


def matrix_as_tensor(size: Preset) -> Shape:
    """Shape of a matrix of 576 rows with both its axes split in two, of which one grows: the time
    grows as the sixth power of a side where both do."""
    side = 24
    return (size.extent(side, least=4), side) * 2


@FAMILIES.operation("cholesky", "inverse", "sign_and_log_determinant")
def positive_definite(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and a stack of small ones."""
    yield {
        WHY: "one large covariance matrix, as of all points of a Gaussian process",
        "x": definite(matrix_to_factor(size)),
    }
    yield {
        WHY: "a stack of covariances of 64 variables, as of a mixture of Gaussians",
        "x": definite(stack_of_matrices(size)),
    }
    if operation.name != "cholesky":
        yield {
            WHY: f"{EXCHANGED}, as of a flow's invertible convolutions",
            "x": invertible(stack_of_matrices(size)),
        }


@FAMILIES.operation("determinant")
def determinant(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A stack of matrices that are small enough for it, and a larger one, triangular with ones and
    more on its diagonal, as the determinant of a general one overflows float32."""
    yield {
        WHY: "a stack of covariances of 64 variables, as in a mixture's densities",
        "x": definite(stack_of_matrices(size)),
    }
    yield {
        WHY: "one larger triangular matrix, as the Jacobian of an autoregressive flow is",
        "x": tensor(*matrix_to_diagonalise(size), fill=LOWER_TRIANGULAR),
    }
    yield {
        WHY: f"{EXCHANGED}, as of a flow's invertible convolutions",
        "x": invertible(stack_of_matrices(size)),
    }


@FAMILIES.operation("eigenvectors_of_symmetric", "eigenvalues_of_symmetric")
def symmetric(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix whose eigenvalues are far from zero, and a stack of small ones."""
    yield {
        WHY: "one covariance matrix, for the principal components of its variables",
        "x": definite(matrix_to_diagonalise(size)),
    }
    yield {
        WHY: "a stack of small covariances, as decorrelated batch normalisation whitens groups",
        "x": definite(stack_of_matrices(size)),
    }


@FAMILIES.operation("eigenvectors", "eigenvalues", "matrix_rank")
def general(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square matrix of full rank that is not symmetric, and a stack of small ones to diagonalise:
    the ranks of a stack would all be equal."""
    yield {
        WHY: "one matrix that is not symmetric, as the dynamics of a linear system",
        "x": tensor(*matrix_to_diagonalise(size)),
    }
    if operation.name != "matrix_rank":
        yield {
            WHY: "a stack of small Jacobians, as of a system at many points: LAPACK for each",
            "x": tensor(*stack_of_matrices(size)),
        }


RECTANGULAR = {
    "pseudo_inverse": (
        "a square matrix, as of equations that may depend on each other",
        "many samples of fewer variables, as in linear regression",
    ),
    "qr": (
        "a square random matrix, as orthogonal initialisation of a layer factors it",
        "many samples of fewer variables, as least squares and randomised SVD factor them",
    ),
    "svd": (
        "a square matrix of weights, as compression to a lower rank",
        "many samples of fewer variables, for their principal components",
    ),
}
"""Why each operation takes a square matrix, and one of many rows."""


@FAMILIES.operation(*RECTANGULAR)
def rectangular(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square matrix, and one of many rows."""
    shapes = matrix_to_diagonalise(size), tall(size)
    for why, shape in zip(RECTANGULAR[operation.name], shapes, strict=True):
        yield {WHY: why, "x": tensor(*shape)}


@FAMILIES.operation("solve")
def solve(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """One right-hand side, as many as there are unknowns, and some for each of a stack."""
    shape, stack = matrix_to_factor(size), stack_of_matrices(size)
    for why, matrices, right in (
        ("one right-hand side, as a step of Newton's method", definite(shape), shape[:1]),
        (
            "as many right-hand sides as unknowns, which take most of the time",
            definite(shape),
            shape,
        ),
        (
            "a stack of small systems, several right-hand sides each, as Kalman filters' gains",
            definite(stack),
            (*stack[:-1], SIDES),
        ),
        (
            "a matrix that is not symmetric, as of a circuit: its rows are exchanged",
            invertible(shape),
            shape[:1],
        ),
    ):
        yield {WHY: why, "x": matrices, "right_hand_side": tensor(*right)}


@FAMILIES.operation("least_squares")
def least_squares(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Many more equations than unknowns."""
    yield {
        WHY: "linear regression, with many more samples than variables",
        "x": tensor(*tall(size)),
        "right_hand_side": tensor(*tall(size)[:1]),
    }


@FAMILIES.operation("tensor_solve")
def tensor_solve(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square system written as tensors."""
    yield {
        WHY: "a dense linear equation of a field on a grid of two axes",
        "x": tensor(*matrix_as_tensor(size)),
        "right_hand_side": tensor(*matrix_as_tensor(size)[:2]),
    }


@FAMILIES.operation("tensor_inverse")
def tensor_inverse(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square matrix written as a tensor: two axes of rows, two of columns."""
    yield {
        WHY: "a linear map of fields on a grid of two axes, for many right-hand sides",
        "x": tensor(*matrix_as_tensor(size)),
        "split": 2,
    }


@FAMILIES.operation("matrix_power")
def matrix_power(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A power that takes three products."""
    yield {
        WHY: "five steps of a linear system or a Markov chain, in three products",
        "x": definite(matrix_to_factor(size)),
        "exponent": 5,
    }


INNER_PRODUCTS = {
    "inner_product": "all pairs of rows, as a retriever's scores: a product of matrices",
    "vector_dot": "two matrices element by element, as the angle between two gradients",
}
"""What each operation computes of two matrices."""
OF_VECTORS = "two long vectors, as in a step of conjugate gradients: bound by memory"


@FAMILIES.operation(*INNER_PRODUCTS)
def inner_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two matrices, and two vectors."""
    for why, shape in (
        (INNER_PRODUCTS[operation.name], square(size)),
        (OF_VECTORS, vector(size)),
    ):
        yield {WHY: why, "x": tensor(*shape), "y": tensor(*shape)}


@FAMILIES.operation("dot", "matrix_product")
def matrix_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two matrices, two vectors, a matrix and a vector, and where stacks are multiplied two
    stacks."""
    rows, columns = square(size)
    for why, x, y in (
        (
            "two large matrices, as a wide dense layer's of many samples: bound by arithmetic",
            (rows, columns),
            (columns, rows),
        ),
        (OF_VECTORS, vector(size), vector(size)),
        (
            "a matrix by a vector, as a dense layer of one sample: bound by memory",
            (rows, columns),
            (columns,),
        ),
        (
            "each matrix of a stack by another, as attention of each head by its values",
            cube(size),
            cube(size),
        ),
    ):
        if len(x) < 3 or operation.name == "matrix_product":
            yield {WHY: why, "x": tensor(*x), "y": tensor(*y)}


@FAMILIES.operation("outer_product")
def outer_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two vectors of different lengths."""
    yield {
        WHY: "the gradient of a dense layer's weights from one sample: bound by writing",
        "x": tensor(size.extent(2000)),
        "y": tensor(size.extent(1000)),
    }


@FAMILIES.operation("kronecker_product")
def kronecker_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Every element of one matrix times the whole of the other."""
    yield {
        WHY: "a large matrix of weights, written out from the two small ones it is stored as",
        "x": tensor(size.extent(64, least=4), 32),
        "y": tensor(32, size.extent(32, least=4)),
    }


@FAMILIES.operation("cross_product")
def cross_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Products of vectors of three elements."""
    yield {
        WHY: "normals of the triangles of a mesh, from two edges of each",
        "x": tensor(*line(size), 3),
        "y": tensor(*line(size), 3),
    }


@FAMILIES.operation("tensordot")
def tensordot(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The last axes of one with the first of the other, one and two, and the first two of both."""
    rows, columns = square(size)
    yield {
        WHY: "a product of matrices: nothing to bring into another order",
        "x": tensor(rows, columns),
        "y": tensor(columns, rows),
        "axes": 1,
    }
    yield {
        WHY: "sums over heads and their elements, as the layer behind attention",
        "x": tensor(rows, 16, 32),
        "y": tensor(16, 32, 64),
        "axes": 2,
    }
    yield {
        WHY: "sums over batch and time, as the gradient of a dense layer's weights: one transposed",
        "x": tensor(*cube(size)),
        "y": tensor(*cube(size)),
        "axes": ((0, 1), (0, 1)),
    }


EINSUMS = {
    "ij,jk->ik": "a product of matrices: sums along rows of one and columns of the other",
    "ij,kj->ik": "all pairs of rows, as attention's scores: sums along rows of both",
    "ij,ij->i": "each row by its own partner, as similarities of pairs of embeddings",
}
"""Products of two matrices, each with what it computes."""


@FAMILIES.operation("einsum")
def einsum(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Products of two matrices."""
    matrices = tensors([tensor(*matrix_to_diagonalise(size))] * 2)
    for subscripts, why in EINSUMS.items():
        yield {WHY: why, "subscripts": subscripts, "tensors": matrices}


@FAMILIES.operation("matrix_product_chain")
def chain(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two matrices and a vector, which are cheaper multiplied from the right."""
    shape = square(size)
    yield {
        WHY: "two linear maps of one vector: far cheaper multiplied from the right",
        "matrices": tensors([tensor(*shape), tensor(*shape), tensor(shape[0], 1)]),
    }


KERNEL = 64
"""Elements of a signal's kernel."""
MODES = {
    "full": "a short filter at every overlap, so longer than the signal, as an echo",
    "same": "a short filter, the result as long as the signal, as smoothing a measured curve",
    "valid": "a short filter at whole overlaps alone, as a moving average",
}
"""Modes of a signal's filter, each with what it computes."""


@FAMILIES.operation("convolve", "correlate")
def filter_signal(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A signal and a short kernel."""
    for mode, why in MODES.items():
        yield {WHY: why, "x": tensor(*line(size)), "y": tensor(KERNEL), "mode": mode}


VARIABLES = 32
"""Variables whose covariance is found."""


@FAMILIES.operation("correlation_coefficients", "covariance")
def covariance(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Many samples of several variables."""
    yield {
        WHY: "many samples of 32 variables, as the returns of the shares in a portfolio",
        "x": tensor(VARIABLES, *line(size)),
    }
