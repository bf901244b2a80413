"""Quantisation to numbers of 8 bits, and back."""

from __future__ import annotations

import numpy as np

from opperf.operations.references.reference import Array, references

LARGEST = 2**7 - 1
"""The largest number with a sign of 8 bits."""


def symmetric(x: Array, end: float) -> Array:
    """The numbers for values between an end and its negative, rounded away from zero where two
    are as near."""
    return np.sign(x) * np.floor(np.minimum(np.abs(x) * (LARGEST / end) + 0.5, LARGEST))


REFERENCES = references(
    {
        "dequantize": lambda data, scale: data * scale,
        "quantize_symmetric": symmetric,
    }
)
