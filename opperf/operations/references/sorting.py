"""Sorting, searching, counting, and sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from opperf.operations.references.reference import Array, references


def top_k(x: Array, k: int, gives: str, axis: int = -1) -> Any:
    """The largest elements, their indices, both, or ones where they are."""
    order = np.take(np.argsort(-x, axis=axis, kind="stable"), range(k), axis)
    mask = np.zeros_like(x)
    np.put_along_axis(mask, order, 1, axis)
    values = np.take_along_axis(x, order, axis)
    return {"indices": order, "value": values, "both": (values, order), "mask": mask}[gives]


def first_of(x: Array, axis: int | None) -> Array:
    """The index of the smallest element, of the first one where several are."""
    order = np.argsort(x, axis=axis, kind="stable")
    return order[0] if axis is None else np.take(order, 0, axis)


def histogram(
    x: Array, count: int | None = None, bounds: Any = None, edges: Array | None = None
) -> tuple[Array, Array]:
    """How many elements are between each two edges, and the edges; the last one is inside."""
    if edges is None:
        assert count is not None
        low, high = (x.min(), x.max()) if bounds is None else bounds
        edges = low + (high - low) * np.arange(count + 1) / count
    ordered = np.sort(x.ravel())
    below = np.array([place(ordered, edge, "left") for edge in edges[:-1]])
    return np.diff(np.append(below, place(ordered, edges[-1], "right"))), edges


def place(ordered: Array, value: float, side: str) -> int:
    """Before how many of the sorted elements a value belongs: behind its like on the right."""
    return int((ordered < value).sum() if side == "left" else (ordered <= value).sum())


def distinct(x: Array) -> Array:
    """The elements without any repeated, in ascending order."""
    return np.array(sorted(set(x.ravel().tolist())))


def among(x: Array, y: Array) -> Array:
    """Which elements are among the others."""
    others = set(y.ravel().tolist())
    return np.array([one in others for one in x.ravel().tolist()]).reshape(x.shape)


def of_sets(combine: Any) -> Any:
    """An operation of two sets, in ascending order."""
    return lambda x, y: np.array(sorted(combine(set(x.ravel().tolist()), set(y.ravel().tolist()))))


REFERENCES = references(
    {
        "argmax": lambda x, axis=None: first_of(-x, axis),
        "argmin": lambda x, axis=None: first_of(x, axis),
        "argsort": lambda x, axis: np.argsort(x, axis=axis, kind="stable"),
        "bincount": lambda x, least=0: (x == np.arange(max(x.max() + 1, least))[:, None]).sum(1),
        "histogram": histogram,
        "isin": among,
        "searchsorted": lambda ordered, values, side: np.array(
            [place(ordered, value, side) for value in values.ravel()]
        ).reshape(values.shape),
        "set_difference": of_sets(set.difference),
        "set_exclusive_or": of_sets(set.symmetric_difference),
        "set_intersection": of_sets(set.intersection),
        "set_union": of_sets(set.union),
        "sort": lambda x, axis: np.sort(x, axis=axis),
        "top_k": top_k,
        "unique": distinct,
    }
)
