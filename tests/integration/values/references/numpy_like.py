"""Operators that make tensors from nothing, and NumPy's that no other group has."""

from __future__ import annotations

from typing import Any

import numpy as np

from references import Array, Reference, Written, positional

Shape = tuple[int, ...]


def counted(start: float, stop: float, step: float, dtype: str) -> Array:
    """Numbers at equal distances."""
    return np.arange(start, stop, step)


def spaced(num: int, endpoint: bool, dtype: str, **ends: float) -> Array:
    """So many numbers between two; MXNet 2 has the ends once for each type."""
    start, stop, *_ = ends.values()
    return np.linspace(start, stop, num, endpoint=endpoint)


def unit(N: int, M: int, dtype: str, k: int = 0) -> Array:
    """Ones on a diagonal."""
    return np.eye(N, M, k)


def full(shape: Shape, dtype: str, value: float = 0.0, double_value: Any = None, **_: Any) -> Array:
    """One number; MXNet 2 has it once for each type."""
    return np.full(shape, float(value if double_value is None else double_value))


def adjacent(a: Array, n: int, axis: int) -> Array:
    """Differences of neighbours."""
    return np.diff(a, n, axis)


def overwritten(src: float, out: Array) -> Written:
    """One number, written to every element."""
    return Written(np.full_like(out, src), {"out": np.full_like(out, src)})


def reset(data: list[Array], num_arrays: int) -> Written:
    """Zeros, written to every element."""
    return Written((), {"data": [np.zeros_like(one) for one in data]})


def index_of(shape: Shape) -> Array:
    """The index of every element of a shape."""
    return np.indices(shape)


REFERENCES: dict[str, Reference] = {
    "_arange": counted,
    "_eye": unit,
    "_full": full,
    "_linspace": spaced,
    "_npi_arange": counted,
    "_npi_blackman": lambda M, dtype: np.blackman(M),
    "_npi_diff": adjacent,
    "_npi_ediff1d": positional(np.ediff1d),
    "_npi_eye": unit,
    "_npi_full": full,
    "_npi_full_like": lambda a, fill_value: np.full_like(a, fill_value),
    "_npi_hamming": lambda M, dtype: np.hamming(M),
    "_npi_hanning": lambda M, dtype: np.hanning(M),
    "_npi_identity": lambda shape, dtype: np.eye(*shape),
    "_npi_indices": lambda dimensions, dtype: index_of(dimensions),
    "_npi_interp": lambda xp, fp, x: np.interp(x, xp, fp),
    "_npi_linspace": spaced,
    "_npi_logspace": lambda start, stop, num, dtype: np.logspace(start, stop, num),
    "_npi_ones": lambda shape, dtype: np.ones(shape),
    "_npi_share_memory": lambda a, b: np.array(False),
    "_npi_tri": lambda N, M, k, dtype: np.tri(N, M, k),
    "_npi_tril_indices": lambda n, k, m: np.tril_indices(n, k, m),
    "_npi_zeros": lambda shape, dtype: np.zeros(shape),
    "_ones": lambda shape, dtype: np.ones(shape),
    "_set_value": overwritten,
    "_zeros": lambda shape, dtype: np.zeros(shape),
    "reset_arrays": reset,
}
