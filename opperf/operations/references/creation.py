"""Operations that make tensors from nothing, windows, and differences of neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from opperf.operations.references.reference import Array, Functions, Shape


def arange(start: float, stop: float | None = None, step: float = 1) -> Array:
    """Numbers at equal distances, from `start` up to `stop`, or from 0 up to `start`."""
    if stop is None:
        start, stop = 0, start
    return start + step * np.indices((int(np.ceil((stop - start) / step)),))[0]


def linspace(start: float, stop: float, num: int, endpoint: bool = True) -> Array:
    """`num` numbers at equal distances from `start` to `stop`."""
    return start + (stop - start) * np.arange(num) / (num - 1 if endpoint else num)


def eye(rows: int, columns: int | None = None, offset: int = 0) -> Array:
    """A matrix of ones on a diagonal."""
    indices = np.indices((rows, rows if columns is None else columns))
    return indices[1] - indices[0] == offset


def tri(rows: int, columns: int | None = None, offset: int = 0) -> Array:
    """A matrix of ones on a diagonal and below."""
    indices = np.indices((rows, rows if columns is None else columns))
    return indices[1] - indices[0] <= offset


def cosine_window(*weights: float) -> Any:
    """The window function that is a sum of cosines with these weights."""

    def window(length: int) -> Array:
        turn = 2 * np.pi * np.arange(length) / (length - 1)
        return sum(weight * np.cos(i * turn) for i, weight in enumerate(weights))

    return window


def kaiser_window(length: int, beta: float) -> Array:
    """The Kaiser window: Bessel functions of the heights of a half circle."""
    half_circle = np.power(1 - (2 * np.arange(length) / (length - 1) - 1) ** 2, 0.5)
    return special.i0(beta * half_circle) / special.i0(beta)


def difference(x: Array, order: int = 1, axis: int = -1) -> Array:
    """Differences of neighbours, taken `order` times."""
    rows = np.moveaxis(x, axis, 0)
    for _ in range(order):
        rows = rows[1:] - rows[:-1]
    return np.moveaxis(rows, 0, axis)


def fourier_frequencies(count: int, spacing: float) -> Array:
    """The frequencies of a transform's elements: those from zero up, then the negative ones."""
    indices = np.arange(count)
    return (indices - count * (2 * indices >= count)) / (count * spacing)


def interpolate(x: Array, known: Array, values: Array) -> Array:
    """Values on the straight lines between known points, which ascend; constant beyond them."""
    after = np.minimum(np.maximum((known <= x[..., None]).sum(-1), 1), len(known) - 1)
    low, high = known[after - 1], known[after]
    part = np.minimum(np.maximum((x - low) / (high - low), 0), 1)
    return values[after - 1] * (1 - part) + values[after] * part


def full(shape: Shape, value: float) -> Array:
    """A tensor of one number."""
    return np.broadcast_to(np.asarray(value), shape)


def gradient(x: Array, spacing: Any = (), axis: Any = None) -> list[Array]:
    """Derivatives along axes by central differences, one-sided at the ends. `spacing` are the
    distances of neighbours along each axis, or their positions; 1 where there is none."""
    axes = range(x.ndim) if axis is None else [dim % x.ndim for dim in np.atleast_1d(axis)]
    steps = spacing or [1.0] * len(axes)
    return [np.asarray(np.gradient(x, step, axis=i)) for i, step in zip(axes, steps, strict=True)]


REFERENCES: Functions = {
    # The triangular window.
    "bartlett_window": lambda length: 1 - abs(2 * np.arange(length) / (length - 1) - 1),
    # The window that is a constant less a cosine of one period.
    "general_hamming_window": lambda length, alpha, beta: cosine_window(alpha, -beta)(length),
    # The indices of a matrix's lower triangle, row by row.
    "tril_indices": lambda rows, offset=0, columns=None: tuple(
        np.argwhere(tri(rows, columns, offset)).T
    ),
    # The indices of a matrix's upper triangle, row by row.
    "triu_indices": lambda rows, offset=0, columns=None: tuple(
        np.argwhere(tri(rows, columns, offset - 1) == 0).T
    ),
    "blackman_window": cosine_window(0.42, -0.5, 0.08),
    "full_like": lambda x, value: full(x.shape, value),
    "full_of_each": lambda tensors, value: [full(tensor.shape, value) for tensor in tensors],
    "hamming_window": cosine_window(0.54, -0.46),
    "hann_window": cosine_window(0.5, -0.5),
    "indices": lambda shape: np.stack(
        np.meshgrid(*(np.arange(extent) for extent in shape), indexing="ij")
    ),
    "logspace": lambda start, stop, num: np.power(10.0, linspace(start, stop, num)),
    "real_fourier_frequencies": lambda count, spacing: (
        np.arange(count // 2 + 1) / (count * spacing)
    ),
    # No two tensors of a case share memory, and a reference gets copies of them.
    "shares_memory": lambda x, y: np.array(False),
    "vandermonde": lambda x, columns: np.power(x[:, None], np.arange(columns)[::-1]),
}
