"""Sorting, searching and counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from references import Array, Reference


def largest(data: Array, k: int, ret_typ: str, dtype: str, axis: int = -1) -> Any:
    """The largest elements, their indices, both, or ones where they are."""
    order = np.take(np.argsort(-data, axis=axis, kind="stable"), range(k), axis)
    mask = np.zeros_like(data)
    np.put_along_axis(mask, order, 1, axis)
    values = np.take_along_axis(data, order, axis)
    return {"indices": order, "value": values, "both": (values, order), "mask": mask}[ret_typ]


def order(data: Array, axis: int, dtype: str) -> Array:
    """The indices that sort."""
    return np.argsort(data, axis=axis, kind="stable")


def histogram(data: Array, bin_cnt: Any = None, range: Any = None, bins: Any = None) -> Any:
    """How many elements are between each two edges, and the edges."""
    return np.histogram(data, bins=bin_cnt if bins is None else bins, range=range)


REFERENCES: dict[str, Reference] = {
    "_histogram": histogram,
    "_npi_argmax": lambda data, axis: np.argmax(data, axis),
    "_npi_argmin": lambda data, axis: np.argmin(data, axis),
    "_npi_bincount": lambda data: np.bincount(data),
    "_npi_unique": lambda data: np.unique(data),
    "argmax": lambda data, axis: np.argmax(data, axis),
    "argmax_channel": lambda data: np.argmax(data, -1),
    "argmin": lambda data, axis: np.argmin(data, axis),
    "argsort": order,
    "sort": lambda data, axis: np.sort(data, axis),
    "topk": largest,
}
