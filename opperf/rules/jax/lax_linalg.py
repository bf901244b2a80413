"""Inputs of `jax.lax.linalg`: forms that have no common operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.operations import OPERATIONS as CANONICAL
from opperf.rules.configurations import WHY
from opperf.rules.families.factors import exchanges, of_definite
from opperf.rules.families.linalg import (
    SIDES,
    definite,
    general,
    matrix_to_diagonalise,
    stack_of_matrices,
    symmetric,
)
from opperf.rules.jax.scipy_linalg import from_zero
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import line, square
from opperf.rules.sizes import Preset
from opperf.rules.values import UPPER_TRIANGULAR, Arguments, between, call, fixed, literal, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()


BAND = between(-1.0, 1.0)
DOMINANT = between(3.0, 4.0)
"""A diagonal larger than the two others together: a solution needs no exchanges of rows."""


def tridiagonal(size: Preset) -> Iterable[Arguments]:
    """Systems of three diagonals."""
    (long,) = line(size)
    for why, shape, sides in (
        ("an implicit step of diffusion along a line, one right-hand side", (long,), 1),
        ("cubic splines of many curves through the same knots", (long,), SIDES),
        ("a stack of implicit steps, such as the columns of an atmosphere", (size.batch, 128), 1),
    ):
        band, middle = (tensor(*shape, fill=fill) for fill in (BAND, DOMINANT))
        yield {"dl": band, "d": middle, "du": band, "b": tensor(*shape, sides), WHY: why}


def updated_factor(size: Preset) -> Iterable[Arguments]:
    """An upper factor and a vector. XLA takes a tenth of a second to compile each row."""
    for rows, why in (
        (64, "a small factor of 64 variables, as a filter's in each of its steps"),
        (128, "one observation more in a factor, for recursive least squares"),
    ):
        factor = tensor(rows, rows, fill=UPPER_TRIANGULAR)
        yield {"r_matrix": factor, "w_vector": tensor(rows), WHY: why}


def own_product(size: Preset) -> Rows:
    """A matrix times its own transpose, and added to another."""
    rows, columns = square(size)
    made: Arguments = {"a_matrix": tensor(rows, columns), "c_matrix": definite((rows, rows))}
    return {
        "products of all pairs of rows: a Gram matrix, of which kernels of GPUs compute half": call(
            **made
        ),
        "a running average of a gradient's products, as the statistics of Shampoo": call(
            **made, alpha=0.1, beta=0.9, symmetrize_output=True
        ),
    }


def diagonalised(size: Preset) -> Iterable[Arguments]:
    """Matrices that are not symmetric, by both forms of their eigenvectors."""
    for made in general(CANONICAL["eigenvectors"], size):
        yield {**made, "compute_left_eigenvectors": False}
    yield {
        "x": tensor(*matrix_to_diagonalise(size)),
        "compute_left_eigenvectors": False,
        "compute_right_eigenvectors": False,
        WHY: "eigenvalues alone, as the stability of a linear system",
    }


def schur(size: Preset) -> Rows:
    """Matrices that are not symmetric."""
    shape = matrix_to_diagonalise(size)
    return {
        "one matrix, as the square root of a matrix needs it": call(x=tensor(*shape)),
        "its triangle alone, for eigenvalues": call(x=tensor(*shape), compute_schur_vectors=False),
    }


def permuted(size: Preset) -> Iterable[Arguments]:
    """Exchanges of rows, counted from zero."""
    for why, shape in (
        ("the exchanges of one matrix's rows, as a solution from LU's factors needs them", (512,)),
        ("the exchanges of a stack of small matrices", (size.batch, 64)),
    ):
        pivots = exchanges(shape)
        yield {
            "pivots": fixed(*shape, fill=literal(from_zero(pivots.fill.data)), dtype="int32"),
            "permutation_size": shape[-1],
            WHY: why,
        }


VARIANTS: Mapping[str, Variants] = {
    "lax.linalg.cholesky_update": updated_factor,
    "lax.linalg.eig": diagonalised,
    "lax.linalg.eigh": lambda size: symmetric(CANONICAL["eigenvectors_of_symmetric"], size),
    "lax.linalg.hessenberg": lambda size: {
        "one matrix that is not symmetric, before its eigenvalues": call(
            a=tensor(*matrix_to_diagonalise(size))
        ),
        "a stack of small Jacobians: LAPACK for each": call(a=tensor(*stack_of_matrices(size))),
    },
    # Its pivots count from zero, those of the operation from one.
    "lax.linalg.lu": lambda size: of_definite(CANONICAL["lu_packed"], size),
    "lax.linalg.lu_pivots_to_permutation": permuted,
    "lax.linalg.qdwh": lambda size: {
        "a layer's update made orthogonal, as Muon's": call(x=tensor(*matrix_to_diagonalise(size))),
        "a symmetric matrix, as a step of its eigenvalues by halves of the spectrum": call(
            x=definite(matrix_to_diagonalise(size)), is_hermitian=True
        ),
    },
    "lax.linalg.schur": schur,
    "lax.linalg.symmetric_product": own_product,
    "lax.linalg.tridiagonal": lambda size: {
        "one covariance, before its eigenvalues": call(a=definite(matrix_to_diagonalise(size))),
        "a stack of covariances: LAPACK for each": call(a=definite(stack_of_matrices(size))),
    },
    "lax.linalg.tridiagonal_solve": tridiagonal,
}
add_rows(FAMILIES.add, VARIANTS)
