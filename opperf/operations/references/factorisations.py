"""Linear algebra: factors, inverses, solutions, eigenvalues.

SciPy has a LAPACK of its own, so that the results do not depend on NumPy's or MXNet's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, optimize

from opperf.operations.references.matrices import transpose_matrices
from opperf.operations.references.reference import Array, Pairs, properties, references


def map_over_batch(function: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """The function of a batch of matrices, from that of one matrix."""

    def each(x: Array) -> Array:
        made = np.stack([function(matrix) for matrix in x.reshape(-1, *x.shape[-2:])])
        return made.reshape(x.shape[:-2] + made.shape[1:])

    return each


inverse = map_over_batch(linalg.inv)
cholesky = map_over_batch(lambda matrix: linalg.cholesky(matrix, lower=True))
determinant = map_over_batch(linalg.det)
eigenvalues = map_over_batch(linalg.eigvalsh)
singular_values = map_over_batch(linalg.svdvals)


def solve(x: Array, right_hand_side: Array) -> Array:
    """The solution of a linear system."""
    return inverse(x) @ right_hand_side


def least_squares(x: Array, right_hand_side: Array, cutoff: float | None = None) -> tuple[Any, ...]:
    """Solution, residual sums of squares, rank and singular values. Singular values below `cutoff`
    times the largest count as zero."""
    made, residuals, rank, values = linalg.lstsq(x, right_hand_side, cond=cutoff)
    return made, residuals, np.array(rank), values


def pseudo_inverse(x: Array, cutoff: Any = None) -> Array:
    """The Moore-Penrose inverse. Singular values below `cutoff` times the largest count as zero."""
    cutoffs = iter(np.broadcast_to(np.asarray(cutoff), x.shape[:-2]).ravel())
    return map_over_batch(lambda matrix: linalg.pinv(matrix, rtol=next(cutoffs)))(x)


def rank(x: Array, least: Any = None) -> Array:
    """Number of singular values above a limit, by default the rounding error of the largest one."""
    values = singular_values(x)
    errors = values.max(-1, keepdims=True) * max(x.shape[-2:]) * np.finfo(x.dtype).eps
    return (values > (errors if least is None else np.asarray(least)[..., None])).sum(-1)


def sign_and_log_determinant(x: Array) -> tuple[Array, Array]:
    """Sign of the determinant, and the logarithm of its magnitude."""
    made = determinant(x)
    return np.sign(made), np.log(np.abs(made))


def tensor_inverse(x: Array, split: int) -> Array:
    """The inverse with the first axes as rows and the others as columns."""
    rows = int(np.prod(x.shape[:split]))
    return linalg.inv(x.reshape(rows, -1)).reshape(x.shape[split:] + x.shape[:split])


def tensor_solve(x: Array, right_hand_side: Array) -> Array:
    """The solution with the right-hand side's axes as rows and the others as columns."""
    matrix = x.reshape(right_hand_side.size, -1)
    made = linalg.solve(matrix, right_hand_side.ravel())
    return made.reshape(x.shape[right_hand_side.ndim :])


def orthonormality(rows: Array) -> tuple[Array, Array]:
    """The products of rows with each other, and the identity matrix, which these have to be."""
    products = rows @ transpose_matrices(rows)
    return products, np.broadcast_to(np.eye(products.shape[-1]), products.shape)


def lq(outputs: list[Array], x: Array) -> Pairs:
    """The pairs of an LQ factorisation: orthonormal rows, a lower triangle, their product."""
    rows, lower = outputs
    return (orthonormality(rows), (np.tril(lower), lower), (lower @ rows, x))


def qr(outputs: list[Array], x: Array) -> Pairs:
    """The pairs of a QR factorisation: orthonormal columns, an upper triangle, their product."""
    columns, upper = outputs
    return (
        orthonormality(transpose_matrices(columns)),
        (np.triu(upper), upper),
        (columns @ upper, x),
    )


def eigenvectors_in_rows(outputs: list[Array], x: Array) -> Pairs:
    """The pairs of ascending eigenvalues and of eigenvectors in rows."""
    rows, values = outputs
    return (
        (values, eigenvalues(x)),
        orthonormality(rows),
        (rows @ x, values[..., None] * rows),
    )


def match_eigenvalues(values: Array, x: Array) -> tuple[Array, Array]:
    """Eigenvalues in any order, and the matrix's, each at the index of the nearest."""
    expected = map_over_batch(linalg.eigvals)(x)
    made = np.empty_like(expected)
    for index in np.ndindex(values.shape[:-1]):
        apart = abs(values[index][:, None] - expected[index])
        made[index] = expected[index][optimize.linear_sum_assignment(apart)[1]]
    return values, made


def eigenvectors_in_columns(outputs: list[Array], x: Array) -> Pairs:
    """The pairs of eigenvalues and of eigenvectors of length one in columns."""
    values, columns = outputs
    return (
        match_eigenvalues(values, x),
        ((abs(columns) ** 2).sum(-2), np.ones(values.shape)),
        (x @ columns, columns * values[..., None, :]),
    )


def svd(outputs: list[Array], x: Array) -> Pairs:
    """The pairs of a singular value decomposition: values, orthonormal factors, and the product."""
    left, values, right = outputs
    count = values.shape[-1]
    return (
        (values, singular_values(x)),
        orthonormality(transpose_matrices(left)),
        orthonormality(right),
        ((left[..., :count] * values[..., None, :]) @ right[..., :count, :], x),
    )


REFERENCES = {
    **references(
        {
            "cholesky": cholesky,
            "determinant": determinant,
            "eigenvalues_of_symmetric": eigenvalues,
            "inverse": inverse,
            "inverse_from_cholesky": lambda x: inverse(np.tril(x) @ transpose_matrices(np.tril(x))),
            "matrix_rank": rank,
            "nuclear_norm": lambda x: singular_values(x).sum(-1),
            "singular_values": singular_values,
        }
    ),
    **properties(
        {
            "eigenvalues": lambda outputs, x: (match_eigenvalues(outputs[0], x),),
            "eigenvectors": eigenvectors_in_columns,
            "eigenvectors_of_symmetric": eigenvectors_in_columns,
            "eigenvectors_in_rows": eigenvectors_in_rows,
            "lq": lq,
            "qr": qr,
            "svd": svd,
        }
    ),
}
