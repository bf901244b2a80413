"""Products of matrices and tensors, functions of matrices, and attention."""

from __future__ import annotations

import functools

import numpy as np
from scipy import linalg

from opperf.operations.references.normalisation import masked_softmax
from opperf.operations.references.reference import Array, Functions, Shape, last


def transpose_matrices(matrix: Array, transpose: bool = True) -> Array:
    """Matrices, transposed or as they are."""
    return np.swapaxes(matrix, -1, -2) if transpose else matrix


def tensordot(x: Array, y: Array, axes: tuple[Shape, Shape] | int) -> Array:
    """Sums of products along some last axes of `x` and first of `y`, or along lists of axes."""
    ours, theirs = (
        (range(x.ndim - axes, x.ndim), range(axes)) if isinstance(axes, int) else map(list, axes)
    )
    ours, theirs = list(ours), list(theirs)
    left = [dim for dim in range(x.ndim) if dim not in ours]
    right = [dim for dim in range(y.ndim) if dim not in theirs]
    summed = int(np.prod([x.shape[dim] for dim in ours]))
    rows = x.transpose(*left, *ours).reshape(-1, summed)
    made = rows @ y.transpose(*theirs, *right).reshape(summed, -1)
    return made.reshape([*(x.shape[dim] for dim in left), *(y.shape[dim] for dim in right)])


def cross_product(x: Array, y: Array) -> Array:
    """The vector product of vectors of three elements."""
    turned, further = (1, 2, 0), (2, 0, 1)
    return x[..., turned] * y[..., further] - x[..., further] * y[..., turned]


def triangular_solution(
    x: Array,
    triangle: Array,
    right: bool = False,
    upper: bool = False,
    transpose: bool = False,
    unit: bool = False,
) -> Array:
    """The solution of a triangular system, whose diagonal may count as ones."""
    own = np.triu(triangle) if upper else np.tril(triangle)
    if unit:
        order = own.shape[-1]
        own = own * (1 - np.eye(order)) + np.eye(order)
    inverse = np.linalg.inv(transpose_matrices(own, transpose))
    return x @ inverse if right else inverse @ x


def unpack_triangle(x: Array) -> Array:
    """Lower triangular matrices from vectors of their elements."""
    order = int(np.sqrt(2 * x.shape[-1]))
    made = np.zeros((*x.shape[:-1], order, order))
    made[last(np.tril_indices(order))] = x
    return made


def split_heads(projected: Array, heads: int, parts: int) -> tuple[Array, ...]:
    """Each projection as (batch * heads, length, width), from projections interleaved by head."""
    length, batch, total = projected.shape
    split = projected.reshape(length, batch, heads, parts, total // heads // parts)
    return tuple(
        split[:, :, :, i].transpose(1, 2, 0, 3).reshape(batch * heads, length, -1)
        for i in range(parts)
    )


def join_heads(vectors: Array, heads: int) -> Array:
    """The inverse of `heads_apart` for one projection."""
    many, length, width = vectors.shape
    joined = vectors.reshape(many // heads, heads, length, width).transpose(2, 0, 1, 3)
    return joined.reshape(length, many // heads, heads * width)


def scores(queries: Array, keys: Array) -> Array:
    """Products of queries and keys, divided by the root of their length."""
    return queries @ transpose_matrices(keys) / np.sqrt(queries.shape[-1])


def self_attention_scores(queries_keys_values: Array, heads: int) -> Array:
    """Scores between the tokens of a sentence."""
    queries, keys, _ = split_heads(queries_keys_values, heads, 3)
    return scores(queries, keys)


def attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Array:
    """Values weighted by the softmax of the scaled products of queries and keys, all of (...,
    heads, tokens, width). Of fewer heads of keys and values each serves several of queries. A mask
    is of booleans, whether a query attends to a key, or is added to the scores; a causal one hides
    the keys behind each query."""
    times = query.shape[-3] // key.shape[-3]
    keys, values = key.repeat(times, -3), value.repeat(times, -3)
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = factor * query @ keys.swapaxes(-1, -2)
    seen = np.ones(scores.shape, bool)
    if mask is not None and mask.dtype == bool:
        seen = seen & mask
    elif mask is not None:
        scores = scores + mask
    if causal:
        seen = seen & np.tri(query.shape[-2], key.shape[-2], dtype=bool)
    highest = scores.max(-1, keepdims=True)
    return masked_softmax(scores - highest, seen, -1) @ values


def convolve(x: Array, y: Array, mode: str) -> Array:
    """The convolution of two vectors: at every overlap ("full"), as many elements as the longer one
    has ("same"), or where one is inside the other ("valid")."""
    every = np.zeros(len(x) + len(y) - 1, np.result_type(x, y))
    for i, element in enumerate(y):
        every[i : i + len(x)] += element * x
    longer, shorter = max(len(x), len(y)), min(len(x), len(y))
    start = {"full": 0, "same": (shorter - 1) // 2, "valid": shorter - 1}[mode]
    count = {"full": len(every), "same": longer, "valid": longer - shorter + 1}[mode]
    return every[start : start + count]


def covariance(x: Array) -> Array:
    """The unbiased covariance of rows."""
    beside = x - x.mean(1, keepdims=True)
    return beside @ beside.T / (x.shape[1] - 1)


def correlation_coefficients(x: Array) -> Array:
    """The correlation coefficients of rows."""
    made = covariance(x)
    deviations = np.diagonal(made) ** 0.5
    return made / deviations[:, None] / deviations


REFERENCES: Functions = {
    # The cross-correlation of two vectors, with the complex conjugate of the second.
    "correlate": lambda x, y, mode: convolve(x, np.conj(y[::-1]), mode),
    # Sums of another sentence's values, weighted by attention.
    "cross_attention_context": lambda keys_values, attention, heads: join_heads(
        attention @ split_heads(keys_values, heads, 2)[1], heads
    ),
    # Scores between the tokens of two sentences.
    "cross_attention_scores": lambda queries, keys_values, heads: scores(
        split_heads(queries, heads, 1)[0], split_heads(keys_values, heads, 2)[0]
    ),
    # Sums of products along the last axis of `x` and the second to last of `y`.
    "dot": lambda x, y: tensordot(x, y, ((x.ndim - 1,), (max(y.ndim - 2, 0),))),
    # Each element of one matrix times the other.
    "kronecker_product": lambda x, y: np.block([[element * y for element in row] for row in x]),
    # The product of two matrices, each transposed or not, plus a third.
    "matrix_product": lambda x, y, transpose_x=False, transpose_y=False, addend=0.0: (
        transpose_matrices(x, transpose_x) @ transpose_matrices(y, transpose_y) + addend
    ),
    # A scaled tensor plus a scaled product of matrices, or of a matrix and a vector.
    "scaled_matrix_product": lambda addend, x, y, scale=1.0, addend_scale=1.0: (
        addend_scale * addend + scale * (x @ y)
    ),
    # A scaled matrix plus a scaled outer product of vectors.
    "scaled_outer_product": lambda addend, x, y, scale=1.0, addend_scale=1.0: (
        addend_scale * addend + scale * np.outer(x, y)
    ),
    # A scaled matrix plus the scaled sum of a stack's products of matrices.
    "scaled_sum_of_products": lambda addend, x, y, scale=1.0, addend_scale=1.0: (
        addend_scale * addend + scale * (x @ y).sum(0)
    ),
    # Sums of a sentence's values, weighted by attention.
    "self_attention_context": lambda queries_keys_values, attention, heads: join_heads(
        attention @ split_heads(queries_keys_values, heads, 3)[2], heads
    ),
    # A product with a lower triangular matrix.
    "triangular_product": lambda x, triangle, right: (
        x @ np.tril(triangle) if right else np.tril(triangle) @ x
    ),
    "diagonal_matrix": lambda x: x[..., None] * np.eye(x.shape[-1]),
    "diagonal_of_matrix": lambda x: np.diagonal(x, axis1=-2, axis2=-1),
    "einsum": lambda tensors, subscripts: np.einsum(subscripts, *tensors),
    "inner_product": lambda x, y: tensordot(x, y, ((x.ndim - 1,), (y.ndim - 1,))),
    "khatri_rao_product": lambda matrices: functools.reduce(linalg.khatri_rao, matrices),
    "matrix_power": lambda x, exponent: functools.reduce(np.matmul, [x] * exponent),
    "matrix_product_chain": lambda matrices: functools.reduce(np.matmul, matrices),
    "matrix_times_own_transpose": lambda x: x @ transpose_matrices(x),
    "outer_product": lambda x, y: x.reshape(-1, 1) * y.reshape(-1),
    "pack_triangle": lambda x: x[last(np.tril_indices(x.shape[-1]))],
    "sum_of_log_diagonal": lambda x: np.log(np.diagonal(x, axis1=-2, axis2=-1)).sum(-1),
    "vector_products": lambda x, y, axis=-1: (np.conj(x) * y).sum(axis),
    "vector_dot": lambda x, y: (np.conj(x.ravel()) * y.ravel()).sum(),
    # A scaled matrix plus a scaled product of matrices where the first one is not zero.
    "sampled_matrix_product": lambda addend, x, y, scale=1.0, addend_scale=1.0: (
        addend_scale * addend + scale * (x @ y) * (addend != 0)
    ),
}
