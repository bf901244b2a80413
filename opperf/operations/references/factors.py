"""Functions of the factors that LAPACK makes: LU, LDL, Cholesky's, and reflections."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from opperf.operations.references.factorisations import (
    determinant,
    inverse,
    map_over_batch,
    svd,
)
from opperf.operations.references.matrices import transpose_matrices
from opperf.operations.references.reference import Array, Pairs, properties, references


def permutation(pivots: Array) -> Array:
    """The matrix that undoes the exchanges of each row with the one that its pivot counts from
    one."""
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
    """The solution of the systems whose matrices have these factors: transposed ones, or with the
    unknown on the left of the matrix."""
    exchanged, lower, upper = unpack_lu(packed, pivots)
    solver = inverse(transpose_matrices(exchanged @ lower @ upper, adjoint))
    return solver @ right_hand_side if left else right_hand_side @ solver


def lu_packed(outputs: list[Array], x: Array, first: int = 1) -> Pairs:
    """The pairs of packed factors: their product is the matrix. Pivots count rows from `first`."""
    packed, pivots, *_ = outputs
    exchanged, lower, upper = unpack_lu(packed, pivots + (1 - first))
    return ((exchanged @ lower @ upper, x),)


def lu(outputs: list[Array], x: Array) -> Pairs:
    """The pairs of a permutation, a unit lower and an upper triangle: their product is the
    matrix."""
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
    """The product of a unit lower triangle, a diagonal and the triangle's transpose, of packed
    factors without exchanges."""
    lower = lower_of(packed)
    diagonal = np.diagonal(packed, axis1=-2, axis2=-1)
    return (lower * diagonal[..., None, :]) @ transpose_matrices(lower)


def ldl_packed(outputs: list[Array], x: Array) -> Pairs:
    """The pairs of packed factors of a matrix whose diagonal is so large that no rows are
    exchanged: their product is the matrix."""
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
    """The first columns of a product of Householder reflections, the vectors of which are below the
    diagonal."""
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
    return ((householder_product(packed, scales) @ np.triu(packed[: len(scales)]), x),)


def log_determinant(x: Array) -> Array:
    """The logarithm of the determinant, which is positive."""
    return np.log(determinant(x))


def svd_in_columns(outputs: list[Array], x: Array) -> Pairs:
    """The pairs of singular values and vectors, both factors' vectors in columns."""
    left, values, right = outputs
    return svd([left, values, transpose_matrices(right)], x)


REFERENCES = {
    **references({"matrix_exponential": map_over_batch(linalg.expm)}),
    **properties(
        {
            "ldl_packed": ldl_packed,
            "lu": lu,
            "lu_packed": lu_packed,
            "qr_packed": qr_packed,
            "svd_in_columns": svd_in_columns,
        }
    ),
}
