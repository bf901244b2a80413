"""Factors as LAPACK makes them, and what is computed of them."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.families.linalg import (
    SIDES,
    definite,
    matrix_to_diagonalise,
    matrix_to_factor,
    stack_of_matrices,
)
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import LOWER_TRIANGULAR, Arguments, between, fixed, literal, tensor

FAMILIES = Families()

PIVOT = "int32"
"""Dtype of pivots, which is LAPACK's."""


def pivots(shape: Shape, order: list[int]) -> TensorSpec:
    """Pivots of matrices, the same of each."""
    *stack, _ = shape
    data: object = order
    for count in reversed(stack):
        data = [data] * count
    return fixed(*shape, fill=literal(data), dtype=PIVOT)


def exchanges(shape: Shape) -> TensorSpec:
    """Pivots of matrices: for each row another below, counted from one, in a fixed order."""
    rows = shape[-1]
    return pivots(shape, [row + 1 + 7 * row % (rows - row) for row in range(rows)])


def in_order(shape: Shape) -> TensorSpec:
    """Pivots of matrices none of whose rows are exchanged."""
    return pivots(shape, list(range(1, shape[-1] + 1)))


DEFINITE = {
    "ldl_packed": (
        "one large Hessian near a minimum, which is definite: no rows are exchanged",
        "a stack of Hessians of 64 variables near minima, which are definite",
    ),
    "log_determinant": (
        "one large covariance, for the likelihood of a Gaussian process",
        "a stack of covariances of 64 variables, for the densities of a mixture",
    ),
    "lu": (
        "one matrix into three, for a flow with an LU-decomposed layer",
        "a stack of matrices of 64 rows, each into a permutation and two triangles",
    ),
    "lu_packed": (
        "one matrix, as before many right-hand sides are solved for",
        "a stack of matrices of 64 rows, as a step of a batch of implicit solvers",
    ),
    "matrix_exponential": (
        "one symmetric matrix, as a mean of covariances' logarithms back to a covariance",
        "a stack of symmetric matrices of 64 rows, as covariances' logarithms to covariances",
    ),
}
"""Why each operation takes a matrix and a stack of them."""
EXCHANGED = ("lu", "lu_packed")


@FAMILIES.operation(*DEFINITE)
def of_definite(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix and a stack: definite, but where rows are exchanged, which those of such are not."""
    one, stack = DEFINITE[operation.name]
    slow = operation.name in ("matrix_exponential", "log_determinant")
    shape = matrix_to_diagonalise(size) if slow else matrix_to_factor(size)
    for each, why in ((shape, one), (stack_of_matrices(size), stack)):
        yield {"x": tensor(*each) if operation.name in EXCHANGED else definite(each), WHY: why}


@FAMILIES.operation("qr_packed")
def qr_packed(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square matrix, one of many rows, and a stack of small ones."""
    square = "a square matrix into reflections, as orthogonal initialisation of a layer"
    yield {"x": tensor(*matrix_to_diagonalise(size)), WHY: square}
    yield {"x": tensor(*tall(size)), WHY: "many samples into reflections, as least squares does"}
    yield {"x": tensor(*stack_of_matrices(size)), WHY: "small matrices, as many small fits"}


@FAMILIES.operation("svd_in_columns", "singular_values")
def singular(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A square matrix, one of many rows, and a stack of small ones."""
    weights = "a square matrix, as a layer's weights whose spectral norm is limited"
    yield {"x": tensor(*matrix_to_diagonalise(size)), WHY: weights}
    yield {"x": tensor(*tall(size)), WHY: "many rows of few columns, by principal components"}
    yield {"x": tensor(*stack_of_matrices(size)), WHY: "a stack of small matrices, as many heads'"}


LU_SYSTEMS = (
    ("one right-hand side, as a step of Newton's method with old factors", 1),
    ("several right-hand sides, as a batch of samples with old factors", SIDES),
)


@FAMILIES.operation("solution_from_lu", "unpack_lu")
def from_lu(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Packed factors of a matrix, and of a stack of small ones."""
    solves = operation.name == "solution_from_lu"
    shape, stack = matrix_to_factor(size), stack_of_matrices(size)
    large, small = {"packed": definite(shape)}, {"packed": definite(stack)}
    large["pivots"], small["pivots"] = exchanges(shape[:1]), exchanges(stack[:-1])
    if not solves:
        yield {**large, WHY: "one matrix's factors, to be read as three matrices"}
        yield {**small, WHY: "a stack of factors of 64 rows, to be read as three stacks"}
        return
    for why, sides in LU_SYSTEMS:
        yield {**large, "right_hand_side": tensor(shape[0], sides), WHY: why}
    why = "a stack of small systems, several right-hand sides each"
    yield {**small, "right_hand_side": tensor(*stack[:-1], SIDES), WHY: why}
    why = "the transposed system, as the gradient of a solution solves"
    yield {**large, "right_hand_side": tensor(shape[0], SIDES), "adjoint": True, WHY: why}


SYSTEMS = {
    "solution_from_cholesky": (
        "right-hand sides of one covariance's factor, as a Gaussian process's mean",
        "a stack of factors of 64 rows, several right-hand sides each",
    ),
    "solution_from_ldl": (
        "right-hand sides of one Hessian's factors, as steps of Newton's method",
        "a stack of symmetric factors of 64 rows, several right-hand sides each",
    ),
}
"""Why each operation takes the factors of a matrix and of a stack of them."""


@FAMILIES.operation(*SYSTEMS)
def from_factors(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Factors of a matrix, and of a stack of small ones, with several right-hand sides."""
    whys = SYSTEMS[operation.name]
    for why, shape in zip(whys, (matrix_to_factor(size), stack_of_matrices(size)), strict=True):
        made: Roles = {"packed": definite(shape), "pivots": in_order(shape[:-1])}
        if operation.name == "solution_from_cholesky":
            made = {"x": tensor(*shape, fill=LOWER_TRIANGULAR)}
        yield {**made, "right_hand_side": tensor(*shape[:-1], SIDES), WHY: why}


@FAMILIES.operation("inverse_from_cholesky")
def inverse_from_cholesky(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The lower factors of a matrix and of a stack."""
    for factors, why in (
        (matrix_to_factor, "one covariance's factor, for the precision matrix of a Gaussian"),
        (stack_of_matrices, "a stack of factors of 64 rows, as a mixture of Gaussians has"),
    ):
        yield {"x": tensor(*factors(size), fill=LOWER_TRIANGULAR), WHY: why}


@FAMILIES.operation("triangular_solution")
def triangular_solution(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Systems of a lower factor and of a stack, transposed, and of unknowns on the left."""
    shape, stack = matrix_to_factor(size), stack_of_matrices(size)
    several, transpose = (shape[0], SIDES), {"transpose": True}
    for why, factor, right, options in (
        ("one factor, several right-hand sides, as a Gaussian process whitens", shape, several, {}),
        ("one factor, as many right-hand sides, as an inverse", shape, shape, {}),
        (
            "a stack of factors of 64 rows, as a batch of covariances whitens",
            *(stack, (*stack[:-1], SIDES), {}),
        ),
        ("the transposed system, Cholesky's second step", shape, several, transpose),
        (
            "the unknown on the left of the matrix: the gradient of Cholesky's factor",
            *(shape, several[::-1], {"right": True}),
        ),
    ):
        triangle = tensor(*factor, fill=LOWER_TRIANGULAR)
        yield {"triangle": triangle, "x": tensor(*right), **options, WHY: why}


def householder(shape: Shape) -> Arguments:
    """Vectors below the diagonal, near reflections: of all rows their squares sum to about 0.2."""
    rows, columns = shape
    end = (0.6 / rows) ** 0.5
    scales = tensor(columns, fill=between(1.2, 1.6))
    return {"packed": tensor(rows, columns, fill=between(-end, end)), "scales": scales}


@FAMILIES.operation("householder_product")
def householder_product(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """As many reflections as there are rows, and few long ones."""
    square = "an orthogonal matrix from as many reflections as rows: an orthogonal layer"
    yield {**householder(matrix_to_diagonalise(size)), WHY: square}
    yield {
        # The gradient takes as long as many products of all rows: a minute for those of `tall`.
        **householder((size.extent(1024, least=64), SIDES)),
        WHY: "an orthonormal basis of a few columns, for randomised SVD",
    }


@FAMILIES.operation("householder_times")
def householder_times(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A matrix on the left of the reflections, on their right, and transposed."""
    rows, columns = shape = matrix_to_diagonalise(size)
    for why, other, options in (
        ("reflections times a matrix, which is never multiplied out", (rows, columns), {}),
        ("transposed reflections times few columns, as a fit", (rows, SIDES), {"transpose": True}),
        ("a few rows times the reflections", (SIDES, rows), {"left": False}),
    ):
        yield {**householder(shape), "other": tensor(*other), **options, WHY: why}
