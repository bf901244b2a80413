"""Products of matrices and tensors, and linear algebra."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy import linalg

from references import Array, Pairs, Property, Reference, positional


def flipped(matrix: Array, transpose: bool = True) -> Array:
    """Matrices transposed, or as they are."""
    return np.swapaxes(matrix, -1, -2) if transpose else matrix


def product(lhs: Array, rhs: Array, transpose_a: bool = False, transpose_b: bool = False) -> Array:
    """The product of matrices, each transposed or not."""
    return flipped(lhs, transpose_a) @ flipped(rhs, transpose_b)


def gemm(A: Array, B: Array, transpose_b: bool, C: Any = 0.0) -> Array:
    """A product, added to a matrix."""
    return product(A, B, transpose_b=transpose_b) + C


def columns_kronecker(args: list[Array]) -> Array:
    """The Kronecker product of each column."""
    return functools.reduce(linalg.khatri_rao, args)


def einsum(data: list[Array], subscripts: str) -> Array:
    """Sums of products as the subscripts say."""
    return np.einsum(subscripts, *data)


def tensordot(a: Array, b: Array, a_axes_summed: Any, b_axes_summed: Any) -> Array:
    """Sums of products along axes of both."""
    return np.tensordot(a, b, (a_axes_summed, b_axes_summed))


def triangular_product(A: Array, B: Array, rightside: bool) -> Array:
    """A product with a lower triangular matrix."""
    return B @ np.tril(A) if rightside else np.tril(A) @ B


def triangular_solution(A: Array, B: Array, rightside: bool) -> Array:
    """What gives the right-hand side when multiplied by a lower triangular matrix."""
    inverse = np.linalg.inv(np.tril(A))
    return B @ inverse if rightside else inverse @ B


def packed(A: Array) -> Array:
    """The elements of lower triangles, row by row."""
    return A[(..., *np.tril_indices(A.shape[-1]))]


def unpacked(A: Array) -> Array:
    """Lower triangles from their elements."""
    order = int(np.sqrt(2 * A.shape[-1]))
    made = np.zeros((*A.shape[:-1], order, order))
    made[(..., *np.tril_indices(order))] = A
    return made


def diagonal_matrices(A: Array) -> Array:
    """Diagonal matrices from vectors."""
    return A[..., None] * np.eye(A.shape[-1])


def factor_inverse(A: Array) -> Array:
    """The inverse of the matrix that has this Cholesky factor."""
    return np.linalg.inv(np.tril(A) @ flipped(np.tril(A)))


def least_squares(A: Array, B: Array, rcond: float) -> tuple[Any, ...]:
    """Solution, residuals, rank, singular values."""
    solution, residuals, rank, values = np.linalg.lstsq(A, B, rcond)
    return solution, residuals, np.array(rank), values


def pseudo_inverse(A: Array, rcond: Any = 1e-15) -> Array:
    """The pseudo-inverse."""
    return np.linalg.pinv(A, rcond)


def heads_apart(projected: Array, heads: int, parts: int) -> tuple[Array, ...]:
    """Projections that are interleaved head by head, each as (batch * heads, length, width)."""
    length, batch, total = projected.shape
    split = projected.reshape(length, batch, heads, parts, total // heads // parts)
    return tuple(
        split[:, :, :, i].transpose(1, 2, 0, 3).reshape(batch * heads, length, -1)
        for i in range(parts)
    )


def heads_joined(vectors: Array, heads: int) -> Array:
    """The inverse of `heads_apart` for one projection."""
    many, length, width = vectors.shape
    joined = vectors.reshape(many // heads, heads, length, width).transpose(2, 0, 1, 3)
    return joined.reshape(length, many // heads, heads * width)


def scores(queries: Array, keys: Array) -> Array:
    """Products of queries and keys, over the root of their length."""
    return queries @ flipped(keys) / np.sqrt(queries.shape[-1])


def self_scores(queries_keys_values: Array, heads: int) -> Array:
    """Scores of tokens of one sentence."""
    queries, keys, _ = heads_apart(queries_keys_values, heads, 3)
    return scores(queries, keys)


def self_context(queries_keys_values: Array, attention: Array, heads: int) -> Array:
    """Values of one sentence weighted."""
    return heads_joined(attention @ heads_apart(queries_keys_values, heads, 3)[2], heads)


def cross_scores(queries: Array, keys_values: Array, heads: int) -> Array:
    """Scores of tokens of two sentences."""
    return scores(*heads_apart(queries, heads, 1), heads_apart(keys_values, heads, 2)[0])


def cross_context(keys_values: Array, attention: Array, heads: int) -> Array:
    """Values of another sentence weighted."""
    return heads_joined(attention @ heads_apart(keys_values, heads, 2)[1], heads)


REFERENCES: dict[str, Reference] = {
    "_contrib_interleaved_matmul_encdec_qk": cross_scores,
    "_contrib_interleaved_matmul_encdec_valatt": cross_context,
    "_contrib_interleaved_matmul_selfatt_qk": self_scores,
    "_contrib_interleaved_matmul_selfatt_valatt": self_context,
    "_np_dot": positional(np.dot),
    "_npi_cholesky": positional(np.linalg.cholesky),
    "_npi_cross": positional(np.cross),
    "_npi_dot": positional(np.dot),
    "_npi_eigvalsh": positional(np.linalg.eigvalsh),
    "_npi_einsum": einsum,
    "_npi_kron": positional(np.kron),
    "_npi_lstsq": least_squares,
    "_npi_matmul": positional(np.matmul),
    "_npi_matrix_rank": lambda M, tol: np.linalg.matrix_rank(M, tol),
    "_npi_matrix_rank_none_tol": lambda M: np.linalg.matrix_rank(M),
    "_npi_pinv": pseudo_inverse,
    "_npi_pinv_scalar_rcond": pseudo_inverse,
    "_npi_solve": positional(np.linalg.solve),
    "_npi_tensordot": tensordot,
    "_npi_tensordot_int_axes": positional(np.tensordot),
    "_npi_tensorinv": positional(np.linalg.tensorinv),
    "_npi_tensorsolve": positional(np.linalg.tensorsolve),
    "batch_dot": product,
    "dot": product,
    "khatri_rao": columns_kronecker,
    "linalg_det": positional(np.linalg.det),
    "linalg_extractdiag": lambda A: np.diagonal(A, axis1=-2, axis2=-1),
    "linalg_extracttrian": packed,
    "linalg_gemm": gemm,
    "linalg_gemm2": gemm,
    "linalg_inverse": positional(np.linalg.inv),
    "linalg_makediag": diagonal_matrices,
    "linalg_maketrian": unpacked,
    "linalg_potrf": positional(np.linalg.cholesky),
    "linalg_potri": factor_inverse,
    "linalg_slogdet": lambda A: tuple(np.linalg.slogdet(A)),
    "linalg_sumlogdiag": lambda A: np.log(np.diagonal(A, axis1=-2, axis2=-1)).sum(-1),
    "linalg_syrk": lambda A: A @ flipped(A),
    "linalg_trmm": triangular_product,
    "linalg_trsm": triangular_solution,
}


def orthonormal(rows: Array) -> tuple[Array, Array]:
    """Rows times themselves, and the identity that this has to be."""
    products = rows @ flipped(rows)
    return products, np.broadcast_to(np.eye(products.shape[-1]), products.shape)


def lower_and_orthonormal(outputs: list[Array], A: Array) -> Pairs:
    """Orthonormal rows and a lower triangle that give the matrix."""
    rows, lower = outputs
    return (orthonormal(rows), (np.tril(lower), lower), (lower @ rows, A))


def orthonormal_and_upper(outputs: list[Array], A: Array) -> Pairs:
    """Orthonormal columns and an upper triangle that give the matrix."""
    columns, upper = outputs
    return (orthonormal(flipped(columns)), (np.triu(upper), upper), (columns @ upper, A))


def eigenvectors_in_rows(outputs: list[Array], A: Array) -> Pairs:
    """Eigenvalues in ascending order, and eigenvectors in rows."""
    rows, values = outputs
    return (
        (values, np.linalg.eigvalsh(A)),
        orthonormal(rows),
        (rows @ A, values[..., None] * rows),
    )


def eigenvectors_in_columns(outputs: list[Array], A: Array) -> Pairs:
    """Eigenvalues, sorted here for their order is free, and eigenvectors in columns."""
    values, columns = outputs
    return (
        (np.sort(values), np.linalg.eigvalsh(A)),
        ((columns**2).sum(-2), np.ones_like(values)),
        (A @ columns, columns * values[..., None, :]),
    )


def singular_values(outputs: list[Array], A: Array) -> Pairs:
    """Orthonormal factors around the singular values."""
    left, values, right = outputs
    return (
        (values, np.linalg.svd(A, compute_uv=False)),
        orthonormal(left),
        orthonormal(right),
        ((left * values[..., None, :]) @ right, A),
    )


PROPERTIES: dict[str, Property] = {
    "_linalg_syevd": eigenvectors_in_rows,
    "_npi_eig": eigenvectors_in_columns,
    "_npi_eigh": eigenvectors_in_columns,
    "_npi_eigvals": lambda outputs, A: ((np.sort(outputs[0]), np.linalg.eigvalsh(A)),),
    "_npi_qr": orthonormal_and_upper,
    "_npi_svd": singular_values,
    "linalg_gelqf": lower_and_orthonormal,
}
