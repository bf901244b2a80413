"""Sorting, searching, counting, and sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from opperf.operations.references.reference import Array, references


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


def insertion_index(ordered: Array, value: float, side: str) -> int:
    """The index at which a value keeps the elements sorted: before equal ones for the side "left",
    else after them."""
    return int((ordered < value).sum() if side == "left" else (ordered <= value).sum())


def unique(
    x: Array, index: bool = False, inverse: bool = False, counts: bool = False
) -> Array | tuple[Array, ...]:
    """The distinct elements, in ascending order; with the index at which each is first, with each
    element's index among them, with the number of each."""
    elements = x.ravel().tolist()
    distinct = sorted(set(elements))
    places = {one: place for place, one in enumerate(distinct)}
    parts = (
        (True, lambda: distinct),
        (index, lambda: [elements.index(one) for one in distinct]),
        (inverse, lambda: [places[one] for one in elements]),
        (counts, lambda: [elements.count(one) for one in distinct]),
    )
    made = tuple(np.array(part()) for wanted, part in parts if wanted)
    return made if len(made) > 1 else made[0]


def isin(x: Array, y: Array) -> Array:
    """Whether each element of `x` is among those of `y`."""
    others = set(y.ravel().tolist())
    return np.array([one in others for one in x.ravel().tolist()]).reshape(x.shape)


def set_operation(combine: Any) -> Any:
    """The operation of two tensors' sets of elements, which returns them in ascending order."""
    return lambda x, y: np.array(sorted(combine(set(x.ravel().tolist()), set(y.ravel().tolist()))))


REFERENCES = references(
    {
        "argmax": lambda x, axis=None: argmin(-x, axis),
        "argmin": lambda x, axis=None: argmin(x, axis),
        "argsort": lambda x, axis: np.argsort(x, axis=axis, kind="stable"),
        "bincount": lambda x, least=0: (x == np.arange(max(x.max() + 1, least))[:, None]).sum(1),
        "histogram": histogram,
        "isin": isin,
        "searchsorted": lambda ordered, values, side: np.array(
            [insertion_index(ordered, value, side) for value in values.ravel()]
        ).reshape(values.shape),
        "set_difference": set_operation(set.difference),
        "set_exclusive_or": set_operation(set.symmetric_difference),
        "set_intersection": set_operation(set.intersection),
        "set_union": set_operation(set.union),
        "sort": lambda x, axis: np.sort(x, axis=axis),
        "top_k": top_k,
        "unique": unique,
    }
)
