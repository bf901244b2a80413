"""Linear algebra: factors, inverses, solutions, eigenvalues, packed factors, norms, by SciPy's own
LAPACK, so that the results do not depend on NumPy's or MXNet's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, optimize

from opperf.operations.references.matrices import transpose_matrices
from opperf.operations.references.reference import Array, Functions, Pairs


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


def least_squares(x: Array, right_hand_side: Array, cutoff: float | None = None) -> tuple[Any, ...]:
    """Solution, residuals, rank, singular values; those below `cutoff` of the largest are zero."""
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
    return ((values, eigenvalues(x)), orthonormality(rows), (rows @ x, values[..., None] * rows))


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


def permutation(pivots: Array) -> Array:
    """The matrix that undoes exchanges of each row with the one that its pivot counts from one."""
    order = np.arange(len(pivots))
    for row, other in enumerate(pivots.astype(int) - 1):
        order[[row, other]] = order[[other, row]]
    made: Array = np.eye(len(pivots))[:, order]
    return made


def lower_of(packed: Array) -> Array:
    """The unit lower triangle of packed square factors."""
    return np.tril(packed, -1) + np.eye(packed.shape[-1])


def unpack_lu(packed: Array, pivots: Array) -> tuple[Array, Array, Array]:
    """The permutation and the two triangles of packed factors of square matrices."""
    many = pivots.reshape(-1, pivots.shape[-1])
    exchanged = np.stack([permutation(exchanges) for exchanges in many]).reshape(packed.shape)
    return exchanged, lower_of(packed), np.triu(packed)


def solution_from_lu(
    packed: Array, pivots: Array, right_hand_side: Array, left: bool = True, adjoint: bool = False
) -> Array:
    """The solution of systems of these factors: transposed, or with the unknown on the left."""
    exchanged, lower, upper = unpack_lu(packed, pivots)
    solver = inverse(transpose_matrices(exchanged @ lower @ upper, adjoint))
    return solver @ right_hand_side if left else right_hand_side @ solver


def lu_packed(outputs: list[Array], x: Array, first: int = 1) -> Pairs:
    """The pairs of packed factors: their product is the matrix. Pivots count rows from `first`."""
    packed, pivots, *_ = outputs
    exchanged, lower, upper = unpack_lu(packed, pivots + (1 - first))
    return ((exchanged @ lower @ upper, x),)


def lu(outputs: list[Array], x: Array) -> Pairs:
    """The pairs of a permutation and two triangles, whose product is the matrix."""
    exchanged, lower, upper = outputs
    ones = np.ones(exchanged.shape[:-1])
    return (
        (exchanged.sum(-1), ones),
        (exchanged.sum(-2), ones),
        (lower_of(lower), lower),
        (np.triu(upper), upper),
        (exchanged @ lower @ upper, x),
    )


def product_of_ldl(packed: Array) -> Array:
    """The product of a unit lower triangle, a diagonal and the transpose, without exchanges."""
    lower = lower_of(packed)
    diagonal = np.diagonal(packed, axis1=-2, axis2=-1)
    return (lower * diagonal[..., None, :]) @ transpose_matrices(lower)


def ldl_packed(outputs: list[Array], x: Array) -> Pairs:
    """The pairs of packed factors of a matrix with so large a diagonal that no rows move."""
    packed, pivots, *_ = outputs
    in_order = np.broadcast_to(np.arange(1, x.shape[-1] + 1), pivots.shape)
    return ((pivots, in_order), (product_of_ldl(packed), x))


def solution_from_ldl(packed: Array, pivots: Array, right_hand_side: Array) -> Array:
    """The solution of symmetric systems with these factors, without exchanges."""
    assert (pivots == np.arange(1, packed.shape[-1] + 1)).all()
    return inverse(product_of_ldl(packed)) @ right_hand_side


def solution_from_cholesky(x: Array, right_hand_side: Array) -> Array:
    """The solution of the systems of which these are the lower triangles."""
    lower = np.tril(x)
    return inverse(lower @ transpose_matrices(lower)) @ right_hand_side


def householder_product(packed: Array, scales: Array) -> Array:
    """The first columns of a product of reflections, of the vectors below the diagonal, of each of
    a stack."""
    if packed.ndim > 2:
        return np.stack([householder_product(*each) for each in zip(packed, scales, strict=True)])
    rows, columns = packed.shape
    made: Array = np.eye(rows)[:, :columns]
    for i in reversed(range(len(scales))):
        vector = np.concatenate([np.zeros(i), [1.0], packed[i + 1 :, i]])
        made = made - scales[i] * np.outer(vector, vector @ made)
    return made


def full_reflections(packed: Array, scales: Array) -> Array:
    """The whole square product of the reflections."""
    rows, columns = packed.shape
    return householder_product(np.pad(packed, ((0, 0), (0, rows - columns))), scales)


def householder_times(
    packed: Array, scales: Array, other: Array, left: bool = True, transpose: bool = False
) -> Array:
    """A matrix times the product of reflections, or its transpose, on the left or on the right."""
    whole = transpose_matrices(full_reflections(packed, scales), transpose)
    return whole @ other if left else other @ whole


def qr_packed(outputs: list[Array], x: Array) -> Pairs:
    """The pairs of reflections and an upper triangle: their product is the matrix."""
    packed, scales = outputs
    return ((householder_product(packed, scales) @ np.triu(packed[..., : scales.shape[-1], :]), x),)


def svd_in_columns(outputs: list[Array], x: Array) -> Pairs:
    """The pairs of singular values and vectors, both factors' vectors in columns."""
    left, values, right = outputs
    return svd([left, values, transpose_matrices(right)], x)


EUCLIDEAN = 2


def sum_of_powers(
    x: Array, order: float = EUCLIDEAN, axis: Any = None, keepdims: bool = False
) -> Array:
    """The sum of the powers of the absolute values."""
    return np.asarray((np.abs(x) ** order).sum(axis, keepdims=keepdims))


def vector_norm(
    x: Array, order: float | None = None, axis: Any = None, keepdims: bool = False
) -> Array:
    """The root of the sum of powers, by default the length: the largest absolute value for an
    infinite order, and the number of those that are not zero for an order of zero."""
    magnitudes = np.abs(x)
    if order == np.inf:
        return np.asarray(magnitudes.max(axis, keepdims=keepdims))
    if order == 0:
        return np.asarray((magnitudes > 0).sum(axis, keepdims=keepdims))
    power = EUCLIDEAN if order is None else order
    return np.asarray(sum_of_powers(x, power, axis, keepdims) ** (1 / power))


def matrix_norm(x: Array, norm: str = "fro", keepdims: bool = False) -> Array:
    """The norm of matrices: of all elements (fro), the sum of the singular values (nuc), the
    largest (spectral), or the largest sum of a column (columns)."""
    made = NORMS[norm](np.abs(x)) if norm in NORMS else SINGULAR[norm](singular_values(x))
    return np.asarray(made[..., None, None] if keepdims else made)


NORMS: dict[str, Callable[[Array], Array]] = {
    "fro": lambda magnitudes: vector_norm(magnitudes, EUCLIDEAN, (-2, -1)),
    "columns": lambda magnitudes: magnitudes.sum(-2).max(-1),
}
"""Norms by absolute values."""

SINGULAR: dict[str, Callable[[Array], Array]] = {
    "nuc": lambda values: values.sum(-1),
    "spectral": lambda values: values.max(-1),
}
"""Norms by singular values."""


def condition_number(x: Array, norm: str | None = None) -> Array:
    """The product of the norms, by default spectral, of the matrix and of its inverse."""
    own = "spectral" if norm is None else norm
    return matrix_norm(x, own) * matrix_norm(inverse(x), own)


def distances_among(x: Array, order: float = EUCLIDEAN) -> Array:
    """The distances of all pairs of rows, each once."""
    first, second = np.triu_indices(len(x), 1)
    return vector_norm(x[first] - x[second], order, -1)


REFERENCES: Functions = {
    "cholesky": cholesky,
    "determinant": determinant,
    "eigenvalues_of_symmetric": eigenvalues,
    "inverse": inverse,
    "inverse_from_cholesky": lambda x: inverse(np.tril(x) @ transpose_matrices(np.tril(x))),
    "matrix_rank": rank,
    # Of a positive one.
    "log_determinant": lambda x: np.log(determinant(x)),
    "matrix_exponential": map_over_batch(linalg.expm),
    "nuclear_norm": lambda x: singular_values(x).sum(-1),
    # The distance of each vector of one tensor from each of another one.
    "pairwise_distances": lambda x, y, order=EUCLIDEAN: vector_norm(
        x[..., :, None, :] - y[..., None, :, :], order, -1
    ),
    "singular_values": singular_values,
    # The solution of a linear system.
    "solve": lambda x, right_hand_side: inverse(x) @ right_hand_side,
    # The norm of the difference of two tensors as vectors.
    "distance": lambda x, y, order=EUCLIDEAN: vector_norm((x - y).ravel(), order),
    # The distance of vectors of the same index, with epsilon added to each difference.
    "distance_of_rows": lambda x, y, order=EUCLIDEAN, epsilon=0.0, keepdims=False: vector_norm(
        x - y + epsilon, order, -1, keepdims
    ),
}

PROPERTIES: Functions = {
    "eigenvalues": lambda outputs, x: (match_eigenvalues(outputs[0], x),),
    "eigenvectors": eigenvectors_in_columns,
    "eigenvectors_of_symmetric": eigenvectors_in_columns,
    "eigenvectors_in_rows": eigenvectors_in_rows,
    "ldl_packed": ldl_packed,
    "lq": lq,
    "lu": lu,
    "lu_packed": lu_packed,
    "qr": qr,
    "qr_packed": qr_packed,
    "svd": svd,
    "svd_in_columns": svd_in_columns,
}
