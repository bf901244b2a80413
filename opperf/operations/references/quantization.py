"""Quantisation to 8-bit numbers, and back."""

from __future__ import annotations

import numpy as np

from opperf.operations.references.reference import Array, references

LARGEST = 2**7 - 1
"""The largest signed 8-bit integer."""


def quantize_symmetric(x: Array, end: float) -> Array:
    """The 8-bit numbers for values from -`end` to `end`; halves are rounded away from zero."""
    return np.sign(x) * np.floor(np.minimum(np.abs(x) * (LARGEST / end) + 0.5, LARGEST))


REFERENCES = references(
    {
        "dequantize": lambda data, scale: data * scale,
        "quantize_symmetric": quantize_symmetric,
    }
)
