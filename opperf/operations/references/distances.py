"""Norms, and distances of vectors by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opperf.operations.references.factorisations import inverse, singular_values
from opperf.operations.references.reference import Array

EUCLIDEAN = 2


def sum_of_powers(
    x: Array, order: float = EUCLIDEAN, axis: Any = None, keepdims: bool = False
) -> Array:
    """The sum of the powers of the absolute values."""
    return np.asarray((np.abs(x) ** order).sum(axis, keepdims=keepdims))


def vector_norm(
    x: Array, order: float | None = None, axis: Any = None, keepdims: bool = False
) -> Array:
    """The root of the sum of the powers of the absolute values; by default the length. The largest
    one where the order is infinite, and the number of those that are not zero for an order of
    zero."""
    magnitudes = np.abs(x)
    if order == np.inf:
        return np.asarray(magnitudes.max(axis, keepdims=keepdims))
    if order == 0:
        return np.asarray((magnitudes > 0).sum(axis, keepdims=keepdims))
    power = EUCLIDEAN if order is None else order
    return np.asarray(sum_of_powers(x, power, axis, keepdims) ** (1 / power))


def matrix_norm(x: Array, norm: str = "fro", keepdims: bool = False) -> Array:
    """The norm of matrices in the last two axes: of all elements ("fro"), the sum of the singular
    values ("nuc"), the largest one ("spectral"), or the largest sum of a column ("columns")."""
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
    """The product of the norms of the matrix and of its inverse; by default of the largest singular
    values."""
    own = "spectral" if norm is None else norm
    return matrix_norm(x, own) * matrix_norm(inverse(x), own)


def distance(x: Array, y: Array, order: float = EUCLIDEAN) -> Array:
    """The norm of the difference of two tensors as vectors."""
    return vector_norm((x - y).ravel(), order)


def distance_of_rows(
    x: Array, y: Array, order: float = EUCLIDEAN, epsilon: float = 0.0, keepdims: bool = False
) -> Array:
    """The distance of each vector from that of the same index, with epsilon added to each
    difference."""
    return vector_norm(x - y + epsilon, order, -1, keepdims)


def pairwise_distances(x: Array, y: Array, order: float = EUCLIDEAN) -> Array:
    """The distance of each vector of one tensor from each of another one."""
    return vector_norm(x[..., :, None, :] - y[..., None, :, :], order, -1)


def distances_among(x: Array, order: float = EUCLIDEAN) -> Array:
    """The distances of all pairs of rows, each once."""
    first, second = np.triu_indices(len(x), 1)
    return vector_norm(x[first] - x[second], order, -1)
