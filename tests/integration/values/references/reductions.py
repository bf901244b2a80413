"""Operators that reduce a tensor along axes, and running sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from references import Array, Reference, named


def along(function: Any) -> Reference:
    """The reference of a reduction: no axes, or an empty list of them, mean all."""

    def reduced(axis: Any = None, keepdims: bool = False, **given: Array) -> Array:
        (data,) = given.values()
        return function(data, axis=axis or None, keepdims=keepdims)

    return reduced


FUNCTIONS: dict[str, Reference] = {
    "all": along(np.all),
    "any": along(np.any),
    "max": along(np.max),
    "mean": along(np.mean),
    "min": along(np.min),
    "nanprod": along(np.nanprod),
    "nansum": along(np.nansum),
    "prod": along(np.prod),
    "std": along(np.std),
    "sum": along(np.sum),
    "var": along(np.var),
}


def norm(data: Array, ord: int, axis: tuple[int, ...]) -> Array:
    """The norm of everything along the axes as one vector."""
    return (np.abs(data) ** ord).sum(axis=axis or None) ** (1 / ord)


def moments(data: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Mean and variance."""
    return data.mean(axis=axes), data.var(axis=axes)


def average(a: Array, weights: Array, weighted: bool, axis: Any = None) -> Array:
    """The weighted mean."""
    assert weighted
    return (a * weights).sum(axis) / weights.sum(axis)


def squares(data: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """The sum of squares."""
    return (data**2).sum(axis=axis, keepdims=keepdims)


def percentile(a: Array, axis: Any, q: Any = None, q_scalar: float | None = None) -> Array:
    """Percentiles, of a number or of a list of them."""
    return np.percentile(a, q_scalar if q is None else q, axis=axis)


def running(a: Array, axis: int | None = None) -> Array:
    """Running sums, along an axis or of everything as one vector."""
    return np.cumsum(a, axis=axis)


def finite(data: Any, num_arrays: int = 1) -> Array:
    """Whether all elements of all tensors are finite."""
    arrays = data if isinstance(data, list) else [data]
    return np.array([all(np.isfinite(array).all() for array in arrays)], float)


REFERENCES: dict[str, Reference] = {
    **named(("max", "mean", "min", "nanprod", "nansum", "prod", "sum"), FUNCTIONS),
    **named(("all", "any", "max", "min", "prod", "sum"), FUNCTIONS, "_np_"),
    **named(("all", "any", "max", "mean", "min", "prod", "std", "sum", "var"), FUNCTIONS, "_npi_"),
    "_np_trace": lambda data: np.trace(data),
    "_npi_trace": lambda data: np.trace(data),
    "_npi_average": average,
    "_npi_percentile": percentile,
    "_square_sum": squares,
    "all_finite": finite,
    "cumsum": running,
    "moments": moments,
    "multi_all_finite": finite,
    "multi_sum_sq": lambda data, num_arrays: np.array([(one**2).sum() for one in data]),
    "norm": norm,
}
