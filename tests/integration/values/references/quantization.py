"""Quantisation: what numbers of 8 bits stand for, and which numbers stand for a value."""

from __future__ import annotations

from typing import Any

import numpy as np

from references import Array, Reference

LARGEST, WIDEST = 2**7 - 1, 2**31 - 1
"""The largest number with a sign of 8 bits, and of 32."""


def dequantized(data: Array, min_range: Array, max_range: Array) -> Array:
    """What numbers of 8 bits stand for. The end of the range is half a number beyond the largest
    one, as oneDNN has it."""
    end = np.maximum(abs(min_range), abs(max_range))
    return data * (end / (np.iinfo(data.dtype).max + 0.5))


def signed(values: Array, end: Any) -> tuple[Array, Array, Array]:
    """The numbers for values, rounded away from zero where two are as near, and their range."""
    scaled = np.minimum(np.abs(values) * (LARGEST / end) + 0.5, LARGEST)
    numbers = np.sign(values) * np.floor(scaled)
    return numbers, -np.full(1, end), np.full(1, end)


def requantized(
    data: Array,
    min_range: Array,
    max_range: Array,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> tuple[Array, Array, Array]:
    """Numbers of 8 bits for those of 32, with the range given or that of the values."""
    values = data * (np.maximum(abs(min_range), abs(max_range)) / WIDEST)
    if min_calib_range is None or max_calib_range is None:
        return signed(values, np.abs(values).max())
    return signed(values, max(abs(min_calib_range), abs(max_calib_range)))


REFERENCES: dict[str, Reference] = {
    "_contrib_dequantize": dequantized,
    "_contrib_requantize": requantized,
}
