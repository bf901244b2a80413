"""Factorisations, systems of equations, and products of matrices and tensors."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import HEADS, UNITS, WIDTH
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, cube, line, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    COMPLEX,
    INVERTIBLE,
    LOWER_TRIANGULAR,
    POSITIVE_DEFINITE,
    call,
    tensor,
)
from opperf.rules.variants import Row, Variants, add_rows

FAMILIES = Families()


def matrix_to_factor(size: Preset) -> Shape:
    """Shape of a matrix to factor, in some tens of milliseconds at 512."""
    return (size.extent(512, least=8),) * 2


def matrix_to_diagonalise(size: Preset) -> Shape:
    """Shape of a matrix to diagonalise, which takes several times as long as to factor it."""
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
"""How general matrices differ from definite ones."""
FLOW = f"{EXCHANGED}, for a flow's invertible convolutions"


def matrix_as_tensor(size: Preset) -> Shape:
    """Shape of a matrix of 576 rows with both its axes split in two, of which one grows."""
    return (size.extent(24, least=4), 24) * 2


@FAMILIES.operation("cholesky", "inverse", "sign_and_log_determinant")
def positive_definite(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix, and a stack of small ones."""
    stack = stack_of_matrices(size)
    one = "one large covariance matrix of all points of a Gaussian process"
    yield {WHY: one, "x": definite(matrix_to_factor(size))}
    mixture = "a stack of covariances of 64 variables in a mixture of Gaussians"
    yield {WHY: mixture, "x": definite(stack)}
    if operation.name != "cholesky":
        yield {WHY: FLOW, "x": invertible(stack)}


@FAMILIES.operation("eigenvectors_of_symmetric", "eigenvalues_of_symmetric")
def symmetric(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix whose eigenvalues are far from zero, and a stack of small ones."""
    one = "one covariance matrix, like that of a data set before its principal components"
    yield {WHY: one, "x": definite(matrix_to_diagonalise(size))}
    several = "a stack of small covariances, as those of groups of channels"
    yield {WHY: several, "x": definite(stack_of_matrices(size))}


@FAMILIES.operation("eigenvectors", "eigenvalues", "matrix_rank")
def general(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix of full rank, not symmetric, and a stack to diagonalise: its ranks are all equal."""
    one = "one matrix that is not symmetric, as the dynamics of a linear system"
    several = "a stack of small Jacobians of a system at many points: LAPACK for each"
    if operation.name == "matrix_rank":
        one = "one square matrix of full rank, as to see whether features depend on each other"
    yield {WHY: one, "x": tensor(*matrix_to_diagonalise(size))}
    if operation.name != "matrix_rank":
        yield {WHY: several, "x": tensor(*stack_of_matrices(size))}


RECTANGULAR = {
    "pseudo_inverse": (
        "a square matrix of full rank, as a layer of a network to invert",
        "many samples of fewer variables, for linear regression",
        "a stack of small square matrices, as Jacobians of a system at many points",
    ),
    "qr": (
        "a square random matrix, as orthogonal initialisation of a layer factors it",
        "many samples of fewer variables, as least squares and randomised SVD factor them",
        "a stack of small random matrices, for orthogonal weights of each head",
    ),
    "svd": (
        "a square matrix of weights, as compression to a lower rank",
        "many samples of fewer variables, for their principal components",
        "a stack of small weights, as those of heads or of updates of low rank",
    ),
}
"""Why each operation takes a square matrix, one of many rows, and a stack."""


@FAMILIES.operation(*RECTANGULAR)
def rectangular(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square matrix, one of many rows, and a stack of small ones."""
    shapes = matrix_to_diagonalise(size), tall(size), stack_of_matrices(size)
    for why, shape in zip(RECTANGULAR[operation.name], shapes, strict=True):
        yield {WHY: why, "x": tensor(*shape)}


@FAMILIES.operation("solve")
def solve(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """One right-hand side, as many as there are unknowns, and some for each of a stack."""
    shape, stack = matrix_to_factor(size), stack_of_matrices(size)
    for why, matrices, right in (
        ("one right-hand side, as a step of Newton's method", definite(shape), shape[:1]),
        ("as many right-hand sides as unknowns, as expm's", definite(shape), shape),
        ("several right-hand sides each, as Kalman filters", definite(stack), (*stack[:-1], SIDES)),
        ("a circuit's matrix, not symmetric: rows are exchanged", invertible(shape), shape[:1]),
    ):
        yield {WHY: why, "x": matrices, "right_hand_side": tensor(*right)}


OF_VECTORS = "two long vectors, for a step of conjugate gradients: bound by memory"


@FAMILIES.operation("inner_product", "vector_dot")
def inner_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two matrices, of complex numbers two vectors, and two vectors."""
    pairs = "all pairs of rows, as a retriever's scores: a product of matrices"
    states = "two states of a quantum computer, of complex numbers, the first of them conjugated"
    first = (pairs, tensor(*square(size)))
    if operation.name == "vector_dot":
        first = (states, tensor(*vector(size), dtype=COMPLEX))
    for why, made in (first, (OF_VECTORS, tensor(*vector(size)))):
        yield {WHY: why, "x": made, "y": made}


@FAMILIES.operation("dot", "matrix_product")
def matrix_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two matrices, two vectors, a matrix and a vector, and two stacks where these multiply."""
    rows, columns = square(size)
    for why, x, y in (
        ("two matrices, as a wide layer's: bound by arithmetic", (rows, columns), (columns, rows)),
        (OF_VECTORS, vector(size), vector(size)),
        ("a matrix by a vector, for one sample: bound by memory", (rows, columns), (columns,)),
        ("each matrix of a stack by another, as attention by its values", cube(size), cube(size)),
    ):
        if len(x) < 3 or operation.name == "matrix_product":
            yield {WHY: why, "x": tensor(*x), "y": tensor(*y)}


@FAMILIES.operation("matrix_product_chain")
def chain(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two matrices and a vector, which are cheaper multiplied from the right."""
    shape = square(size)
    yield {
        WHY: "two linear maps of one vector: far cheaper multiplied from the right",
        "matrices": (tensor(*shape), tensor(*shape), tensor(shape[0], 1)),
    }


MODES = {
    "full": (64, "a short vector at every overlap with a long one: the result is longer"),
    "valid": (1024, "a long template at whole overlaps alone, as a matched filter"),
}
"""How far a shorter vector is moved along a longer one, its extent, and why."""

VARIABLES = 32
FROBENIUS: Roles = {"norm": "fro"}

ROWS: dict[str, Row] = {
    "least_squares": lambda size: {
        WHY: "linear regression, with many more samples than variables",
        "x": tensor(*tall(size)),
        "right_hand_side": tensor(*tall(size)[:1]),
    },
    "tensor_solve": lambda size: {
        WHY: "a dense linear equation of a field on a grid of two axes",
        "x": tensor(*matrix_as_tensor(size)),
        "right_hand_side": tensor(*matrix_as_tensor(size)[:2]),
    },
    "tensor_inverse": lambda size: {
        WHY: "a linear map of fields on a grid of two axes, for many right-hand sides",
        "x": tensor(*matrix_as_tensor(size)),
        "split": 2,
    },
    "matrix_power": lambda size: {
        WHY: "five steps of a symmetric linear system, in three products",
        "x": definite(matrix_to_factor(size)),
        "exponent": 5,
    },
    "outer_product": lambda size: {
        WHY: "the gradient of a dense layer's weights from one sample: bound by writing",
        "x": tensor(size.extent(2000)),
        "y": tensor(size.extent(1000)),
    },
    "kronecker_product": lambda size: {
        WHY: "a large matrix of weights, written out from the two small ones it is stored as",
        "x": tensor(size.extent(64, least=4), 32),
        "y": tensor(32, size.extent(32, least=4)),
    },
    "cross_product": lambda size: {
        WHY: "normals of the triangles of a mesh, from two edges of each",
        "x": tensor(*line(size), 3),
        "y": tensor(*line(size), 3),
    },
    "correlation_coefficients covariance": lambda size: {
        WHY: "many samples of 32 variables, as the returns of the shares in a portfolio",
        "x": tensor(VARIABLES, *line(size)),
    },
}
add_rows(FAMILIES.operation, ROWS)


VARIANTS: dict[str, Variants] = {
    "determinant": lambda size: {
        "small covariances, for a mixture's densities": call(x=definite(stack_of_matrices(size))),
        "one larger triangular matrix, as the Jacobian of an autoregressive flow is": call(
            x=tensor(*matrix_to_diagonalise(size), fill=LOWER_TRIANGULAR)
        ),
        FLOW: call(x=invertible(stack_of_matrices(size))),
    },
    "tensordot": lambda size: {
        "a product of matrices: nothing to bring into another order": call(
            x=tensor(*square(size)), y=tensor(square(size)[1], square(size)[0]), axes=1
        ),
        "sums over heads and their elements, as the layer behind attention": call(
            x=tensor(square(size)[0], HEADS, WIDTH), y=tensor(HEADS, WIDTH, UNITS), axes=2
        ),
        "sums over batch and time, as the gradient of a dense layer's weights: one copied": call(
            x=tensor(*cube(size)), y=tensor(*cube(size)), axes=((0, 1), (0, 1))
        ),
    },
    "convolve correlate": lambda size: {
        why: call(x=tensor(*line(size)), y=tensor(size.extent(extent, least=8)), mode=mode)
        for mode, (extent, why) in MODES.items()
    },
    "condition_number": lambda size: {
        why: call(x=definite(matrix_to_diagonalise(size)), **norm)
        for norm, why in (
            ({}, "in the 2-norm, as before a system is solved: by singular values"),
            (FROBENIUS, "in the Frobenius norm, a cheaper bound of the 2-norm's: by the inverse"),
        )
    },
}
add_rows(FAMILIES.operation, VARIANTS)
