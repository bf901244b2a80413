"""Factorisations, systems of equations, and products of matrices and tensors."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.engine import Families
from opperf.rules.shapes import Shape, cube, line, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import LOWER_TRIANGULAR, POSITIVE_DEFINITE, tensor, tensors

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


def matrix_as_tensor(size: Preset) -> Shape:
    """Shape of a matrix of 576 rows with both its axes split in two, of which one grows: the time
    grows as the sixth power of a side where both do."""
    side = 24
    return (size.extent(side, least=4), side) * 2


@FAMILIES.operation("cholesky", "inverse", "sign_and_log_determinant")
def positive_definite(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and a stack of small ones."""
    yield {"x": definite(matrix_to_factor(size))}
    yield {"x": definite(stack_of_matrices(size))}


@FAMILIES.operation("determinant")
def determinant(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A stack of matrices that are small enough for it, and a larger one, triangular with ones and
    more on its diagonal, as the determinant of a general one overflows float32."""
    yield {"x": definite(stack_of_matrices(size))}
    yield {"x": tensor(*matrix_to_diagonalise(size), fill=LOWER_TRIANGULAR)}


@FAMILIES.operation("eigenvectors_of_symmetric", "eigenvalues_of_symmetric")
def symmetric(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix whose eigenvalues are far from zero, and a stack of small ones."""
    yield {"x": definite(matrix_to_diagonalise(size))}
    yield {"x": definite(stack_of_matrices(size))}


@FAMILIES.operation("eigenvectors", "eigenvalues", "matrix_rank")
def general(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square matrix of full rank that is not symmetric, and a stack of small ones to diagonalise:
    the ranks of a stack would all be equal."""
    yield {"x": tensor(*matrix_to_diagonalise(size)), WHY: "One matrix, not symmetric"}
    if operation.name != "matrix_rank":
        yield {"x": tensor(*stack_of_matrices(size)), WHY: "A stack of small ones: calls of LAPACK"}


@FAMILIES.operation("pseudo_inverse", "qr", "svd")
def rectangular(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square matrix, and one of many rows."""
    yield {"x": tensor(*matrix_to_diagonalise(size))}
    yield {"x": tensor(*tall(size))}


@FAMILIES.operation("solve")
def solve(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """One right-hand side, as many as there are unknowns, and some for each of a stack."""
    shape = matrix_to_factor(size)
    for right in (shape[:1], shape):
        yield {"x": definite(shape), "right_hand_side": tensor(*right)}
    stack = stack_of_matrices(size)
    yield {"x": definite(stack), "right_hand_side": tensor(*stack[:-1], SIDES)}


@FAMILIES.operation("least_squares")
def least_squares(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Many more equations than unknowns."""
    yield {"x": tensor(*tall(size)), "right_hand_side": tensor(*tall(size)[:1])}


@FAMILIES.operation("tensor_solve")
def tensor_solve(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square system written as tensors."""
    yield {
        "x": tensor(*matrix_as_tensor(size)),
        "right_hand_side": tensor(*matrix_as_tensor(size)[:2]),
    }


@FAMILIES.operation("tensor_inverse")
def tensor_inverse(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square matrix written as a tensor: two axes of rows, two of columns."""
    yield {"x": tensor(*matrix_as_tensor(size)), "split": 2}


@FAMILIES.operation("matrix_power")
def matrix_power(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A power that takes three products."""
    yield {"x": definite(matrix_to_factor(size)), "exponent": 5}


@FAMILIES.operation("inner_product", "vector_dot")
def inner_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two matrices, and two vectors."""
    for shape in (square(size), vector(size)):
        yield {"x": tensor(*shape), "y": tensor(*shape)}


@FAMILIES.operation("dot", "matrix_product")
def matrix_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two matrices, two vectors, a matrix and a vector, and where stacks are multiplied two
    stacks."""
    rows, columns = square(size)
    yield {"x": tensor(rows, columns), "y": tensor(columns, rows)}
    yield {"x": tensor(*vector(size)), "y": tensor(*vector(size))}
    yield {"x": tensor(rows, columns), "y": tensor(columns)}
    if operation.name == "matrix_product":
        yield {"x": tensor(*cube(size)), "y": tensor(*cube(size))}


@FAMILIES.operation("outer_product")
def outer_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two vectors of different lengths."""
    yield {"x": tensor(size.extent(2000)), "y": tensor(size.extent(1000))}


@FAMILIES.operation("kronecker_product")
def kronecker_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Every element of one matrix times the whole of the other."""
    yield {
        "x": tensor(size.extent(64, least=4), 32),
        "y": tensor(32, size.extent(32, least=4)),
    }


@FAMILIES.operation("cross_product")
def cross_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Products of vectors of three elements."""
    yield {"x": tensor(*line(size), 3), "y": tensor(*line(size), 3)}


@FAMILIES.operation("tensordot")
def tensordot(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The last axes of one with the first of the other, one and two, and the first two of both."""
    rows, columns = square(size)
    yield {"x": tensor(rows, columns), "y": tensor(columns, rows), "axes": 1}
    yield {"x": tensor(rows, 16, 32), "y": tensor(16, 32, 64), "axes": 2}
    yield {"x": tensor(*cube(size)), "y": tensor(*cube(size)), "axes": ((0, 1), (0, 1))}


EINSUMS = ("ij,jk->ik", "ij,kj->ik", "ij,ij->i")
"""A product of matrices, one with the second transposed, and one row by row."""


@FAMILIES.operation("einsum")
def einsum(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Products of two matrices."""
    matrices = tensors([tensor(*matrix_to_diagonalise(size))] * 2)
    for subscripts in EINSUMS:
        yield {"subscripts": subscripts, "tensors": matrices}


@FAMILIES.operation("matrix_product_chain")
def chain(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two matrices and a vector, which are cheaper multiplied from the right."""
    shape = square(size)
    yield {"matrices": tensors([tensor(*shape), tensor(*shape), tensor(shape[0], 1)])}


KERNEL = 64
"""Elements of a signal's kernel."""
MODES = ("full", "same", "valid")


@FAMILIES.operation("convolve", "correlate")
def filter_signal(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A signal and a short kernel."""
    for mode in MODES:
        yield {"x": tensor(*line(size)), "y": tensor(KERNEL), "mode": mode}


VARIABLES = 32
"""Variables whose covariance is found."""


@FAMILIES.operation("correlation_coefficients", "covariance")
def covariance(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Many samples of several variables."""
    yield {"x": tensor(VARIABLES, *line(size))}
