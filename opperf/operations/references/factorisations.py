"""Linear algebra: factors, inverses, solutions, eigenvalues. SciPy has a LAPACK of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import fft, linalg, optimize

from opperf.operations.references.matrices import flipped
from opperf.operations.references.reference import Array, Pairs, properties, references


def batched(function: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """An operation of one matrix, for those of a batch."""

    def each(x: Array) -> Array:
        made = np.stack([function(matrix) for matrix in x.reshape(-1, *x.shape[-2:])])
        return made.reshape(x.shape[:-2] + made.shape[1:])

    return each


inverse = batched(linalg.inv)
cholesky = batched(lambda matrix: linalg.cholesky(matrix, lower=True))
determinant = batched(linalg.det)
eigenvalues = batched(linalg.eigvalsh)
singular_values = batched(linalg.svdvals)


def solution(x: Array, right_hand_side: Array) -> Array:
    """The solution of a linear system."""
    return inverse(x) @ right_hand_side


def least_squares(x: Array, right_hand_side: Array, cutoff: float | None = None) -> tuple[Any, ...]:
    """Solution, sums of squares that are left, rank, singular values, of which those below that
    share of the largest one count for nothing."""
    made, residuals, rank, values = linalg.lstsq(x, right_hand_side, cond=cutoff)
    return made, residuals, np.array(rank), values


def pseudo_inverse(x: Array, cutoff: Any = None) -> Array:
    """The inverse of what the matrix does not take to zero, as which singular values below that
    share of the largest one count."""
    cutoffs = iter(np.broadcast_to(np.asarray(cutoff), x.shape[:-2]).ravel())
    return batched(lambda matrix: linalg.pinv(matrix, rtol=next(cutoffs)))(x)


def rank(x: Array, least: Any = None) -> Array:
    """How many singular values are above a limit, by default the errors of the largest one."""
    values = singular_values(x)
    errors = values.max(-1, keepdims=True) * max(x.shape[-2:]) * np.finfo(x.dtype).eps
    return (values > (errors if least is None else np.asarray(least)[..., None])).sum(-1)


def sign_and_logarithm(x: Array) -> tuple[Array, Array]:
    """Sign of the determinant, and the logarithm of its size."""
    made = determinant(x)
    return np.sign(made), np.log(np.abs(made))


def tensor_inverse(x: Array, split: int) -> Array:
    """The inverse with the first axes as rows and the others as columns."""
    rows = int(np.prod(x.shape[:split]))
    return linalg.inv(x.reshape(rows, -1)).reshape(x.shape[split:] + x.shape[:split])


def tensor_solution(x: Array, right_hand_side: Array) -> Array:
    """The solution with the right-hand side's axes as rows and the others as columns."""
    matrix = x.reshape(right_hand_side.size, -1)
    made = linalg.solve(matrix, right_hand_side.ravel())
    return made.reshape(x.shape[right_hand_side.ndim :])


def condition(x: Array, norm: str | None = None) -> Array:
    """How much the matrix stretches what it stretches most, over what it does least; or the
    product of its norm and its inverse's."""
    if norm is None:
        values = singular_values(x)
        return values[..., 0] / values[..., -1]
    assert norm == "fro"
    return ((x**2).sum((-2, -1)) * (inverse(x) ** 2).sum((-2, -1))) ** 0.5


def orthonormal(rows: Array) -> tuple[Array, Array]:
    """Rows times themselves, and the identity that this has to be."""
    products = rows @ flipped(rows)
    return products, np.broadcast_to(np.eye(products.shape[-1]), products.shape)


def lower_and_orthonormal(outputs: list[Array], x: Array) -> Pairs:
    """Orthonormal rows and a lower triangle that give the matrix."""
    rows, lower = outputs
    return (orthonormal(rows), (np.tril(lower), lower), (lower @ rows, x))


def orthonormal_and_upper(outputs: list[Array], x: Array) -> Pairs:
    """Orthonormal columns and an upper triangle that give the matrix."""
    columns, upper = outputs
    return (orthonormal(flipped(columns)), (np.triu(upper), upper), (columns @ upper, x))


def eigenvectors_in_rows(outputs: list[Array], x: Array) -> Pairs:
    """Eigenvalues in ascending order, and eigenvectors in rows."""
    rows, values = outputs
    return (
        (values, eigenvalues(x)),
        orthonormal(rows),
        (rows @ x, values[..., None] * rows),
    )


def matched(values: Array, x: Array) -> tuple[Array, Array]:
    """Eigenvalues, whose order is free, and for each of them that of the matrix it stands for."""
    expected = batched(linalg.eigvals)(x)
    made = np.empty_like(expected)
    for place in np.ndindex(values.shape[:-1]):
        apart = abs(values[place][:, None] - expected[place])
        made[place] = expected[place][optimize.linear_sum_assignment(apart)[1]]
    return values, made


def eigenvectors_in_columns(outputs: list[Array], x: Array) -> Pairs:
    """Eigenvalues, and eigenvectors of length one in columns."""
    values, columns = outputs
    return (
        matched(values, x),
        ((abs(columns) ** 2).sum(-2), np.ones(values.shape)),
        (x @ columns, columns * values[..., None, :]),
    )


def singular_value_decomposition(outputs: list[Array], x: Array) -> Pairs:
    """Orthonormal factors around the singular values."""
    left, values, right = outputs
    count = values.shape[-1]
    return (
        (values, singular_values(x)),
        orthonormal(flipped(left)),
        orthonormal(right),
        ((left[..., :count] * values[..., None, :]) @ right[..., :count, :], x),
    )


REFERENCES = {
    **references(
        {
            "cholesky": cholesky,
            "condition_number": condition,
            "determinant": determinant,
            "eigenvalues_of_symmetric": eigenvalues,
            "inverse": inverse,
            "inverse_from_cholesky": lambda x: inverse(np.tril(x) @ flipped(np.tril(x))),
            "least_squares": least_squares,
            "matrix_rank": rank,
            "nuclear_norm": lambda x: singular_values(x).sum(-1),
            "pseudo_inverse": pseudo_inverse,
            "sign_and_log_determinant": sign_and_logarithm,
            "solve": solution,
            "tensor_inverse": tensor_inverse,
            "tensor_solve": tensor_solution,
            "fourier_transform": lambda x, axes: fft.fftn(x, axes=axes),
            "inverse_fourier_transform": lambda x, axes: fft.ifftn(x, axes=axes),
            "real_fourier_transform": lambda x, axes: fft.rfftn(x, axes=axes),
            "inverse_real_fourier_transform": lambda x, axes: fft.irfftn(x, axes=axes),
        }
    ),
    **properties(
        {
            "eigenvalues": lambda outputs, x: (matched(outputs[0], x),),
            "eigenvectors": eigenvectors_in_columns,
            "eigenvectors_of_symmetric": eigenvectors_in_columns,
            "eigenvectors_in_rows": eigenvectors_in_rows,
            "lq": lower_and_orthonormal,
            "qr": orthonormal_and_upper,
            "svd": singular_value_decomposition,
        }
    ),
}
