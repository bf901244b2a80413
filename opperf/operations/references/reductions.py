"""Operations that reduce a tensor along axes, or accumulate along one."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from opperf.operations.references.reference import Array, Functions
from opperf.operations.references.shapes import diagonal

Axes = int | tuple[int, ...] | None


def merge_axes(x: Array, axis: Axes) -> Array:
    """The tensor with these axes merged into its last one; None means all axes."""
    if axis is None:
        return x.reshape(-1)
    axes = [dim % x.ndim for dim in np.atleast_1d(axis)]
    kept = [dim for dim in range(x.ndim) if dim not in axes]
    return x.transpose(*kept, *axes).reshape(*(x.shape[dim] for dim in kept), -1)


def reduction(function: Callable[[Array], Any]) -> Callable[..., Array]:
    """The reduction along any axes, from a function that reduces the last axis."""

    def reduce(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
        made = np.asarray(function(merge_axes(x, axis)))
        if not keepdims:
            return made
        axes = range(x.ndim) if axis is None else [dim % x.ndim for dim in np.atleast_1d(axis)]
        return made.reshape([1 if i in axes else extent for i, extent in enumerate(x.shape)])

    return reduce


def total(rows: Array) -> Array:
    """Sums, rounded once."""
    return np.apply_along_axis(math.fsum, -1, rows)


def mean(rows: Array) -> Array:
    """Arithmetic means."""
    return total(rows) / rows.shape[-1]


def variance(rows: Array, correction: float = 0) -> Array:
    """Sums of squared deviations from the mean, over the number of elements less a correction."""
    return total((rows - mean(rows)[..., None]) ** 2) / (rows.shape[-1] - correction)


def log_of_sum(rows: Array) -> Array:
    """Logarithms of sums of exponentials, taken of the distances to the largest element."""
    largest = np.sort(rows, axis=-1)[..., -1]
    return largest + np.log(total(np.exp(rows - largest[..., None])))


def lower_median(rows: Array) -> Array:
    """The middle one of the sorted elements that are numbers, the lower one of two."""
    numbers = (rows == rows).sum(-1)
    middle = np.maximum((numbers - 1) // 2, 0)
    return np.take_along_axis(np.sort(rows, axis=-1), middle[..., None], -1)[..., 0]


def mode(rows: Array) -> Array:
    """The most frequent elements, the smallest of those that are equally frequent."""

    def of_one(row: Array) -> Any:
        found, counts = np.unique(row, return_counts=True)
        return found[counts.argmax()]

    return np.apply_along_axis(of_one, -1, rows)


def product(rows: Array) -> Array:
    """Products, in Python's own numbers."""
    return np.apply_along_axis(math.prod, -1, rows)


def replace_nan(rows: Array, instead: float) -> Array:
    """The elements with a number in place of NaN."""
    return np.where(rows != rows, instead, rows)


def quantile(x: Array, share: Any, axis: Axes = None) -> Array:
    """Quantiles, by linear interpolation. The first axis is that of the shares."""
    ordered = np.sort(merge_axes(x, axis), axis=-1)
    position = np.asarray(share, dtype=float) * (ordered.shape[-1] - 1)
    below = np.floor(position).astype(int)
    above = np.minimum(below + 1, ordered.shape[-1] - 1)
    part = position - below
    made = ordered[..., below] * (1 - part) + ordered[..., above] * part
    return np.moveaxis(made, -1, 0) if part.ndim else made


def nanquantile(x: Array, share: Any, axis: Axes = None) -> Array:
    """Quantiles of the elements that are numbers. The first axis is that of the shares."""
    rows = merge_axes(x, axis)
    kept = [quantile(row[row == row], share) for row in rows.reshape(-1, rows.shape[-1])]
    return np.reshape(np.stack(kept, -1), (*np.shape(share), *rows.shape[:-1]))


def deviation(function: Callable[[Array], Any]) -> Callable[..., Array]:
    """The reduction along any axes to a function of the variance."""

    def reduce(x: Array, axis: Axes = None, keepdims: bool = False, correction: float = 0) -> Array:
        rows = functools.partial(variance, correction=correction)
        return reduction(lambda merged: function(rows(merged)))(x, axis, keepdims)

    return reduce


def moments(
    x: Array, axis: Axes = None, keepdims: bool = False, correction: float = 0
) -> tuple[Array, Array]:
    """Mean and variance."""
    own = functools.partial(variance, correction=correction)
    return reduction(mean)(x, axis, keepdims), reduction(own)(x, axis, keepdims)


def average(x: Array, weights: Any = None, axis: Axes = None) -> Array:
    """The weighted mean."""
    weights = np.ones_like(x) if weights is None else weights
    if weights.shape != x.shape:
        assert isinstance(axis, int)
        weights = np.expand_dims(weights, [dim for dim in range(x.ndim) if dim != axis % x.ndim])
        weights = np.broadcast_to(weights, x.shape)
    return total(merge_axes(x * weights, axis)) / total(merge_axes(weights, axis))


def accumulation(function: Callable[[Any, Any], Any]) -> Callable[..., Array]:
    """The running result of a function, along an axis or over the flattened tensor."""

    def accumulate(x: Array, axis: int | None = None) -> Array:
        rows = x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0)
        made = np.stack(list(itertools.accumulate(rows, function)))
        return made if axis is None else np.moveaxis(made, 0, axis)

    return accumulate


def trapezoid(function: Callable[..., Array]) -> Callable[..., Array]:
    """The integral along an axis by the trapezoidal rule, of samples at positions or even."""

    def integrate(y: Array, x: Any = None, spacing: float = 1.0, axis: int = -1) -> Array:
        return function(y, x, spacing, axis)

    return integrate


def segment_reduce(data: Array, lengths: Any, reduction: str) -> Array:
    """The reduction of each run of adjacent rows, by the runs' lengths."""
    ends = np.append(0, np.asarray(lengths)).astype(int)
    starts = list(itertools.accumulate(ends))
    rows = (data[a:b] for a, b in itertools.pairwise(starts))
    return np.stack([SEGMENTS[reduction](np.moveaxis(run, 0, -1)) for run in rows])


SEGMENTS: dict[str, Callable[[Array], Any]] = {
    "max": lambda rows: np.sort(rows, axis=-1)[..., -1],
    "mean": mean,
    "min": lambda rows: np.sort(rows, axis=-1)[..., 0],
    "prod": product,
    "sum": total,
}
"""Functions that reduce the last axis, by the name of a reduction."""


def sorted_element(pick: int) -> Callable[[Array], Array]:
    """The function that returns the element at an index of each sorted vector."""
    return lambda rows: np.sort(rows, axis=-1)[..., pick]


REDUCTIONS: dict[str, Callable[[Array], Any]] = {
    "all": lambda rows: (rows == 0).sum(-1) == 0,
    "any": lambda rows: (rows != 0).sum(-1) > 0,
    "count_nonzero": lambda rows: (rows != 0).astype(int).sum(-1),
    "exclusive_or": lambda rows: functools.reduce(operator.xor, np.moveaxis(rows, -1, 0)),
    "logsumexp": log_of_sum,
    "lower_median": lower_median,
    "lower_nanmedian": lower_median,
    "max": sorted_element(-1),
    "mean": mean,
    "min": sorted_element(0),
    "mode": mode,
    "nanmean": lambda rows: total(replace_nan(rows, 0.0)) / (rows == rows).sum(-1),
    "nanprod": lambda rows: product(replace_nan(rows, 1.0)),
    "nansum": lambda rows: total(replace_nan(rows, 0.0)),
    "prod": product,
    "ptp": lambda rows: sorted_element(-1)(rows) - sorted_element(0)(rows),
    "sum": total,
    "sum_of_squares": lambda rows: total(rows**2),
}

REFERENCES: Functions = {
    # Whether all elements of all tensors are finite.
    "all_finite": lambda tensors: np.array(
        [all(np.isfinite(tensor).all() for tensor in tensors)], float
    ),
    **{name: reduction(function) for name, function in REDUCTIONS.items()},
    "cumlogsumexp": accumulation(np.logaddexp),
    "cummax": accumulation(np.maximum),
    "cummin": accumulation(np.minimum),
    "cumprod": accumulation(operator.mul),
    "cumsum": accumulation(operator.add),
    "cumulative_trapezoid": trapezoid(integrate.cumulative_trapezoid),
    "median": functools.partial(quantile, share=0.5),
    "min_and_max": lambda x, axis=None, keepdims=False: tuple(
        reduction(sorted_element(position))(x, axis, keepdims) for position in (0, -1)
    ),
    "std": deviation(lambda squares: squares**0.5),
    "sums_of_squares": lambda tensors: np.array([total(tensor.ravel() ** 2) for tensor in tensors]),
    "trace": lambda x: total(diagonal(x)),
    "trapezoid": trapezoid(integrate.trapezoid),
    "var": deviation(lambda squares: squares),
    # The norm of the elements along the axes as one vector.
    "norm": lambda x, order, axis=None: total(np.abs(merge_axes(x, axis)) ** order) ** (1 / order),
}
