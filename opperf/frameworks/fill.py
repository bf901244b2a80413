"""Contents of tensors, as NumPy arrays: the same spec and seed give the same data."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from opperf.dtypes import DTYPES, is_whole
from opperf.model import Fill, TensorSpec

Array = npt.NDArray[np.generic]

INTEGER_SPAN = 10
"""Width of the range integers are drawn from when a fill's domain holds no whole number, e.g.
[0.1, 0.9). Small, so that sums and products of int8 stay in range."""

DIAGONAL_MARGIN = 1.0
"""Added to the diagonal of triangular matrices so that solving with them is stable."""

CHUNK = 1 << 18
"""Random numbers drawn at most per tensor; longer tensors repeat them. Filling is outside
every measurement, and an operator's time does not depend on values so far apart, but a
full sweep would otherwise spend more time drawing than measuring."""


def generator(spec: TensorSpec, seed: int) -> np.random.Generator:
    """A generator that depends on the seed and on what is filled, and on nothing else. Real
    numbers are drawn in single precision, whatever they are rounded to: the same in each."""
    kind = spec.dtype if is_whole(spec.dtype) else "float32"
    key = f"{spec.shape}{kind}{spec.fill.distribution}{spec.fill.low}{spec.fill.high}"
    return np.random.default_rng([seed, zlib.crc32(key.encode())])


def _tiled(draw: Callable[[int], Array], count: int) -> Array:
    """`count` numbers from `draw`, which is asked for at most `CHUNK` of them."""
    values = draw(min(count, CHUNK))
    return values if count <= CHUNK else np.resize(values, count)


def whole_range(fill: Fill, dtype: str) -> tuple[int, int]:
    """The whole numbers of a continuous fill's domain: [low, high)."""
    if fill.distribution == "normal":
        low, high = -INTEGER_SPAN // 2, INTEGER_SPAN // 2
    else:
        low, high = math.ceil(fill.low), math.ceil(fill.high)
    if high <= low:
        high = low + INTEGER_SPAN
    if low < 0 and not DTYPES[dtype].signed:
        low, high = 0, max(high, INTEGER_SPAN)
    return low, high


def _continuous(spec: TensorSpec, rng: np.random.Generator) -> Array:
    fill, count = spec.fill, spec.size
    if is_whole(spec.dtype):
        low, high = whole_range(fill, spec.dtype)
        return _tiled(lambda n: rng.integers(low, high, n), count)
    if fill.distribution == "normal":
        return _tiled(lambda n: rng.normal(fill.low, fill.high, n).astype(np.float32), count)
    return _tiled(lambda n: rng.uniform(fill.low, fill.high, n).astype(np.float32), count)


def _integers(spec: TensorSpec, rng: np.random.Generator) -> Array:
    low, high = int(spec.fill.low), int(spec.fill.high)
    return _tiled(lambda n: rng.integers(low, high, n), spec.size)


def _odds(spec: TensorSpec, rng: np.random.Generator) -> Array:
    zeros, ones = spec.fill.low, spec.fill.high
    return _tiled(lambda n: rng.random(n) * (zeros + ones) < ones, spec.size)


def _permutation(spec: TensorSpec, rng: np.random.Generator) -> Array:
    last = spec.shape[-1] if spec.shape else 1
    rows = spec.size // max(last, 1)
    return rng.permuted(np.tile(np.arange(last), (rows, 1)), axis=1)


def _simplex(spec: TensorSpec, rng: np.random.Generator) -> Array:
    values = rng.uniform(0.1, 1.0, spec.shape)
    shares: Array = values / values.sum(axis=-1, keepdims=True)
    return shares


def _positive_definite(spec: TensorSpec, rng: np.random.Generator) -> Array:
    # A A^T / n has eigenvalues in [0, 4]; the identity added keeps them in [1, 5].
    *batch, rows, columns = spec.shape
    if rows != columns:
        raise ValueError(f"positive definite matrices are square, not {spec.shape}")
    factor = rng.normal(size=(*batch, rows, columns))
    return factor @ np.swapaxes(factor, -1, -2) / rows + np.eye(rows)


def _lower_triangular(spec: TensorSpec, rng: np.random.Generator) -> Array:
    rows = spec.shape[-1]
    lower = np.tril(rng.uniform(0.0, 1.0, spec.shape)) / math.sqrt(rows)
    return lower + DIAGONAL_MARGIN * np.eye(spec.shape[-2], rows)


def _boxes(spec: TensorSpec, rng: np.random.Generator) -> Array:
    low, high = spec.fill.low, spec.fill.high
    half = (high - low) / 2
    corner = rng.uniform(low, low + half, (*spec.shape[:-1], 2))
    extent = rng.uniform(half * 0.1, half, (*spec.shape[:-1], 2))
    return np.concatenate([corner, corner + extent], axis=-1)


MAKERS: dict[str, Callable[[TensorSpec, np.random.Generator], Array]] = {
    "normal": _continuous,
    "uniform": _continuous,
    "integers": _integers,
    "constant": lambda spec, rng: np.full(spec.size, spec.fill.low),
    "sequence": lambda spec, rng: np.arange(spec.size),
    "boolean": lambda spec, rng: _tiled(lambda n: rng.integers(0, 2, n), spec.size),
    "odds": _odds,
    "permutation": _permutation,
    "simplex": _simplex,
    "positive_definite": _positive_definite,
    "lower_triangular": _lower_triangular,
    "boxes": _boxes,
    "literal": lambda spec, rng: np.asarray(spec.fill.data),
}


def values(spec: TensorSpec, seed: int) -> Array:
    """The spec's contents, of its shape and of its dtype where NumPy has that dtype.

    Raises `ValueError` when the shape does not go with the fill, and `KeyError` for a fill
    that cannot be made here (`given`).
    """
    array = MAKERS[spec.fill.distribution](spec, generator(spec, seed))
    dtype = "float32" if spec.dtype == "bfloat16" else spec.dtype
    return np.ascontiguousarray(array.reshape(spec.shape).astype(dtype, copy=False))
