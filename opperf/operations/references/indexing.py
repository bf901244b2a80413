"""Operations that read or write elements by index, slice or mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from opperf.operations.references.reference import Array, Functions, Shape


def slices(begin: Shape, end: Shape, step: Shape = ()) -> tuple[slice, ...]:
    """A slice of each axis."""
    return tuple(map(slice, begin, end, step or (1,) * len(begin)))


def slice_like(data: Array, like: Array, axes: Any = ()) -> Array:
    """The beginning of each axis, up to another tensor's extent."""
    chosen = axes or range(data.ndim)
    return data[tuple(slice(like.shape[i] if i in chosen else None) for i in range(data.ndim))]


def pick(data: Array, indices: Array, axis: int = -1) -> Array:
    """One element of each row, or of each column."""
    where = np.expand_dims(indices.astype(int), axis)
    return np.take_along_axis(data, where, axis).squeeze(axis)


def take(data: Array, indices: Array, axis: int | None = None) -> Array:
    """Slices at indices along an axis, or elements of the flattened data."""
    if axis is None:
        return data.reshape(-1)[indices]
    return data[(slice(None),) * (axis % data.ndim) + (indices,)]


def replace(data: Array, where: Any, values: Any) -> Array:
    """A copy with some elements replaced."""
    made = data.copy()
    made[where] = values
    return made


def columns_as_index(indices: Array) -> tuple[Array, ...]:
    """NumPy's index of elements or rows, from a matrix of one column for each."""
    return tuple(indices.astype(int))


def index_add(data: Array, indices: Array, values: Array) -> Array:
    """A copy with values added to rows, as often as an index repeats."""
    made = data.copy()
    for column, value in zip(indices.astype(int).T, values, strict=True):
        made[tuple(column)] += value
    return made


def where(condition: Array, x: Any, y: Any) -> Array:
    """Elements of `x` or `y`; a condition with one axis selects rows."""
    wide = (
        condition.reshape(-1, *[1] * (np.ndim(x) - 1)) if condition.ndim < np.ndim(x) else condition
    )
    return (wide != 0) * x + (wide == 0) * y


def masked_fill(data: Array, mask: Array, values: Any) -> Array:
    """A copy with values where a mask is set; a mask with one axis selects rows."""
    made = data.copy()
    wide = mask.reshape(-1, *[1] * (data.ndim - 1)) if mask.ndim < data.ndim else mask
    np.copyto(made, values, where=wide != 0)
    return made


def delete(data: Array, where: Any, axis: int) -> Array:
    """The data without some rows along an axis."""
    gone = set(np.arange(data.shape[axis])[where].reshape(-1).tolist())
    return take(data, np.array([i for i in range(data.shape[axis]) if i not in gone]), axis)


def ravel_multi_index(indices: Array, shape: Shape) -> Array:
    """Positions of elements in memory, from their indices."""
    flat = np.zeros_like(indices[0])
    for index, extent in zip(indices, shape, strict=True):
        flat = flat * extent + index
    return flat


def unravel_index(flat: Array, shape: Shape) -> Array:
    """Indices of elements, from their positions in memory."""
    made = []
    for extent in reversed(shape):
        made.append(flat % extent)
        flat = flat // extent
    return np.stack(made[::-1])


def fill_diagonal(data: Array, value: Any) -> Array:
    """A copy with one number along the diagonal."""
    steps = np.arange(min(data.shape))
    return replace(data, (steps,) * data.ndim, value)


def scatter_elements(
    data: Array,
    indices: Array,
    values: Any,
    axis: int,
    reduction: str = "none",
    include_data: bool = True,
) -> Array:
    """A copy in which each value replaces, or is combined with, the element at its own index but
    for an axis, where its index is. Elements that values are combined with may be left alone."""
    made = data.astype(np.result_type(data, float) if reduction == "mean" else data.dtype)
    where = list(np.indices(indices.shape))
    where[axis] = indices
    target = tuple(where)
    own = np.broadcast_to(values, np.shape(values) or indices.shape)
    own = own[tuple(map(slice, indices.shape))]
    if reduction == "none":
        made[target] = own
        return made
    if not include_data:
        made[target] = NEUTRAL[reduction]
    COMBINED[reduction].at(made, target, own)
    if reduction == "mean":
        counts = np.full(data.shape, float(include_data))
        np.add.at(counts, target, 1)
        made /= np.maximum(counts, 1)
    return made


COMBINED: dict[str, np.ufunc] = {
    "add": np.add,
    "max": np.maximum,
    "mean": np.add,
    "min": np.minimum,
    "multiply": np.multiply,
}
"""Functions of two elements by the name of a reduction."""

NEUTRAL = {"add": 0, "max": -np.inf, "mean": 0, "min": np.inf, "multiply": 1}
"""The number that leaves a reduction's other elements as they are."""


def advanced_index(indices: Any) -> tuple[Any, ...]:
    """NumPy's index, from an array for each axis; None stands for a whole axis."""
    return tuple(slice(None) if index is None else index for index in indices)


def advanced_assignment(data: Array, indices: Any, values: Any, accumulate: bool = False) -> Array:
    """A copy with values written or added at the indices."""
    if not accumulate:
        return replace(data, advanced_index(indices), values)
    made = data.copy()
    np.add.at(made, advanced_index(indices), values)
    return made


def cycle(values: Array, count: int) -> Array:
    """`count` values, which start again from the first where there are fewer."""
    return values.ravel()[np.arange(count) % values.size]


REFERENCES: Functions = {
    "advanced_indexing": lambda data, indices: data[advanced_index(indices)],
    "boolean_mask": lambda data, mask: data[mask != 0],
    "choose": lambda choices, indices: sum(
        (indices == i) * choice for i, choice in enumerate(choices)
    ),
    "embedding": lambda data, weight: weight[data.astype(int)],
    "flat_nonzero": lambda x: np.arange(x.size)[x.ravel() != 0],
    "gather": lambda data, indices: data[columns_as_index(indices)],
    "index_copy": lambda data, indices, values: replace(data, indices, values),
    "index_update": lambda data, indices, values: replace(data, columns_as_index(indices), values),
    "nonzero": lambda x: np.array([i for i in np.ndindex(x.shape) if x[i]]).reshape(-1, x.ndim),
    "one_hot": lambda indices, depth: np.eye(depth)[indices.astype(int)],
    # Values are used up in turn, as often as the mask is set.
    "place": lambda data, mask, values: replace(
        data, mask != 0, values.ravel()[: (mask != 0).sum()]
    ),
    "put": lambda data, indices, values: replace(
        data.ravel(), indices.ravel(), cycle(values, indices.size)
    ).reshape(data.shape),
    "put_along_last": lambda data, indices, values: replace(
        data, (*np.indices(indices.shape)[:-1], indices), values
    ),
    "retain_rows": lambda data, rows: replace(np.zeros_like(data), rows, data[rows]),
    "scatter": lambda data, indices, shape: replace(
        np.zeros(shape), columns_as_index(indices), data
    ),
    "scatter_rows": lambda data, columns, values: replace(
        data, (np.arange(len(data)), columns.astype(int)), values
    ),
    "slice": lambda data, begin, end, step=(): data[slices(begin, end, step)],
    "slice_assign": lambda data, values, begin, end, step=(): replace(
        data, slices(begin, end, step), values
    ),
    "slice_axis": lambda data, axis, begin, end: take(data, np.arange(begin, end), axis),
    "take_along_last": lambda data, indices: data[
        tuple(np.indices(indices.shape)[:-1]) + (indices,)
    ],
    # The data with rows inserted along an axis.
    "insert": lambda data, where, values, axis: np.insert(data, where, values, axis),
}
