"""Sorting, searching, counting, and sets."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from opperf.operations.references.reference import Array, Functions


def top_k(x: Array, k: int, gives: str, axis: int = -1) -> Any:
    """The `k` largest elements, their indices, both, or a mask of them."""
    order = np.take(np.argsort(-x, axis=axis, kind="stable"), range(k), axis)
    mask = np.zeros_like(x)
    np.put_along_axis(mask, order, 1, axis)
    values = np.take_along_axis(x, order, axis)
    return {"indices": order, "value": values, "both": (values, order), "mask": mask}[gives]


def argmin(x: Array, axis: int | None) -> Array:
    """The index of the smallest element, the first of equal ones."""
    order = np.argsort(x, axis=axis, kind="stable")
    return order[0] if axis is None else np.take(order, 0, axis)


def kth_smallest(x: Array, k: int, axis: int = -1) -> tuple[Array, Array]:
    """The element at an index of each sorted vector, counted from 1, and its index."""
    order = np.take(np.argsort(x, axis=axis, kind="stable"), [k - 1], axis)
    return np.take_along_axis(x, order, axis).squeeze(axis), order.squeeze(axis)


def histogram(
    x: Array, count: int | None = None, bounds: Any = None, edges: Array | None = None
) -> tuple[Array, Array]:
    """Number of elements in each bin, and the bins' edges. The last bin includes its upper edge."""
    if edges is None:
        assert count is not None
        low, high = (x.min(), x.max()) if bounds is None else bounds
        edges = low + (high - low) * np.arange(count + 1) / count
    ordered = np.sort(x.ravel())
    below = np.array([insertion_index(ordered, edge, "left") for edge in edges[:-1]])
    return np.diff(np.append(below, insertion_index(ordered, edges[-1], "right"))), edges


def histogram_of_points(
    x: Array, count: Any = None, bounds: Any = None, edges: Any = None
) -> tuple[Array, list[Array]]:
    """Number of points in each box of a grid, upper edges included at its end, and edges."""
    along = []
    for axis, values in enumerate(x.T):
        own = None if bounds is None else bounds[2 * axis : 2 * axis + 2]
        one = (None, None, edges[axis]) if edges is not None else (count[axis], own, None)
        along.append(histogram(values, *one)[1])
    last = [len(edges_of_axis) - 2 for edges_of_axis in along]
    boxes = [
        np.minimum(bins(edges_of_axis, values), most)
        for edges_of_axis, values, most in zip(along, x.T, last, strict=True)
    ]
    made = np.zeros([len(edges_of_axis) - 1 for edges_of_axis in along])
    np.add.at(made, tuple(boxes), 1)
    return made, along


def bins(edges: Array, values: Array) -> Array:
    """The index of the bin that each value is in, or above whose upper edge it is."""
    return (values[:, None] >= edges[1:]).sum(-1)


def bincount(x: Array, least: int = 0, weights: Array | None = None) -> Array:
    """Number of times that each integer occurs, or the sum of its elements' weights."""
    occurs = x == np.arange(max(x.max() + 1, least))[:, None]
    return occurs.sum(1) if weights is None else (occurs * weights).sum(1)


def insertion_index(ordered: Array, value: float, side: str) -> int:
    """The index at which a value keeps the elements sorted: before equal ones for "left"."""
    return int((ordered < value).sum() if side == "left" else (ordered <= value).sum())


def unique(
    x: Array, index: bool = False, inverse: bool = False, counts: bool = False
) -> Array | tuple[Array, ...]:
    """The distinct elements, ascending; with first indices, indices among them, counts."""
    elements = x.ravel().tolist()
    distinct = sorted(set(elements))
    index_of = {value: i for i, value in enumerate(distinct)}
    parts = (
        (True, lambda: distinct),
        (index, lambda: [elements.index(value) for value in distinct]),
        (inverse, lambda: [index_of[value] for value in elements]),
        (counts, lambda: [elements.count(value) for value in distinct]),
    )
    made = tuple(np.array(part()) for wanted, part in parts if wanted)
    return made if len(made) > 1 else made[0]


def searchsorted(ordered: Array, values: Array, side: str) -> Array:
    """The index at which each value keeps the elements of one row, or of its row, sorted."""
    rows = ordered.reshape(-1, ordered.shape[-1])
    several = np.reshape(values, (len(rows), -1))
    made = [
        [insertion_index(row, value, side) for value in own]
        for row, own in zip(rows, several, strict=True)
    ]
    return np.array(made).reshape(np.shape(values))


def runs(rows: Any, inverse: bool, counts: bool) -> tuple[Array, ...]:
    """The first of each run of equal rows; with the run that each row is in, with their lengths."""
    grouped = [(key, len(list(group))) for key, group in itertools.groupby(rows)]
    lengths = [length for _, length in grouped]
    parts = (
        (True, lambda: [key for key, _ in grouped]),
        (inverse, lambda: np.repeat(np.arange(len(lengths)), lengths)),
        (counts, lambda: lengths),
    )
    return tuple(np.array(part()) for wanted, part in parts if wanted)


def slices_of(x: Array, axis: int | None) -> list[Any]:
    """The elements, or slices along an axis as nested tuples, which compare one by one."""
    if axis is None:
        return list(x.ravel().tolist())
    rows = np.moveaxis(x, axis, 0)
    return [tuple(row) for row in rows.reshape(len(rows), -1).tolist()]


def as_slices(found: Array, x: Array, axis: int | None) -> Array:
    """Flat slices in the shape that slices of the tensor have, joined along their axis."""
    if axis is None:
        return found
    others = np.moveaxis(x, axis, 0).shape[1:]
    return np.moveaxis(found.reshape(-1, *others), 0, axis)


def unique_runs(
    x: Array, axis: int | None = None, inverse: bool = False, counts: bool = False
) -> tuple[Array, ...]:
    """The first of each run of equal elements or slices; with runs of each, and lengths."""
    found, *others = runs(slices_of(x, axis), inverse, counts)
    if inverse and axis is None:
        others[0] = others[0].reshape(x.shape)
    return as_slices(found, x, axis), *others


def unique_slices(
    x: Array, axis: int, inverse: bool = False, counts: bool = False
) -> tuple[Array, ...]:
    """The distinct slices along an axis, ascending; with indices among them, and counts."""
    every = slices_of(x, axis)
    found, *others = runs(sorted(every), inverse=False, counts=counts)
    index_of = {tuple(row): i for i, row in enumerate(found.tolist())}
    if inverse:
        others.insert(0, np.array([index_of[row] for row in every]))
    return as_slices(found, x, axis), *others


def isin(x: Array, y: Array) -> Array:
    """Whether each element of `x` is among those of `y`."""
    others = set(y.ravel().tolist())
    return np.array([value in others for value in x.ravel().tolist()]).reshape(x.shape)


def set_operation(combine: Any) -> Any:
    """The operation of two tensors' sets of elements, which returns them in ascending order."""
    return lambda x, y: np.array(sorted(combine(set(x.ravel().tolist()), set(y.ravel().tolist()))))


REFERENCES: Functions = {
    "argmax": lambda x, axis=None: argmin(-x, axis),
    "argmin": lambda x, axis=None: argmin(x, axis),
    "argsort": lambda x, axis: np.argsort(x, axis=axis, kind="stable"),
    "set_difference": set_operation(set.difference),
    "set_exclusive_or": set_operation(set.symmetric_difference),
    "set_intersection": set_operation(set.intersection),
    "set_union": set_operation(set.union),
    "sort": lambda x, axis: np.sort(x, axis=axis),
}
