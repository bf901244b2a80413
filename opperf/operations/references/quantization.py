"""Quantisation to 8-bit numbers, and back."""

from __future__ import annotations

import numpy as np

from opperf.operations.references.reference import Array, references

LARGEST = 2**7 - 1
"""The largest signed 8-bit integer."""


def quantize_symmetric(x: Array, end: float) -> Array:
    """The 8-bit numbers for values from -`end` to `end`; halves are rounded away from zero."""
    return np.sign(x) * np.floor(np.minimum(np.abs(x) * (LARGEST / end) + 0.5, LARGEST))


def fake_quantize(
    x: Array,
    scale: Array | float,
    zero_point: Array | int,
    low: int,
    high: int,
    axis: int | None = None,
) -> Array:
    """The numbers that integers in [low, high] stand for, by a scale and a zero point, which
    each index of an axis may have; halves are rounded to even numbers."""
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    scales, zeros = np.asarray(scale).reshape(shape), np.asarray(zero_point).reshape(shape)
    made = np.clip(np.rint(x / scales) + zeros, low, high)
    return np.asarray((made - zeros) * scales)


REFERENCES = references(
    {
        "dequantize": lambda data, scale: data * scale,
    }
)
