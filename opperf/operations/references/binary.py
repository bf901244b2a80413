"""Operations of two tensors, or of a tensor and a number, and of many, element by element."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from scipy import special

from opperf.operations.references.reference import Array, Functions
from opperf.operations.references.unary import arctan2, floor


def of_integers(function: Any) -> Any:
    """The elementwise operation of a Python function of two integers."""
    each = np.frompyfunc(function, 2, 1)
    return lambda x, y: np.asarray(each(x, y), dtype=np.int64)


def logaddexp(x: Array, y: Array) -> Array:
    """The logarithm of a sum of exponentials."""
    return special.logsumexp(np.stack(np.broadcast_arrays(x, y)), axis=0)


def isclose(x: Array, y: Array, relative: float, absolute: float) -> Array:
    """Whether elements are equal within the tolerances, or both NaN."""
    return (abs(x - y) <= absolute + relative * abs(y)) | ((x != x) & (y != y))


REFERENCES: Functions = {
    # Whether all elements are equal within the tolerances.
    "allclose": lambda **inputs: np.array(isclose(**inputs).sum() == inputs["x"].size),
    # The magnitude of `x` with the sign of `y`.
    "copysign": lambda x, y: np.where(np.signbit(y), -np.abs(x), np.abs(x)),
    "add": lambda x, y: x + y,
    "arctan2": arctan2,
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: (x | y) & ~(x & y),
    "complex": lambda x, y: x + 1j * y,
    "divide": lambda x, y: x / y,
    "equal": lambda x, y: x == y,
    "floor_divide": lambda x, y: floor(x / y),
    # Where one element is NaN, the other is the result.
    "fmax": lambda x, y: np.where((x >= y) | (y != y), x, y),
    "fmin": lambda x, y: np.where((x <= y) | (y != y), x, y),
    "fmod": lambda x, y: x - y * np.trunc(x / y),
    "gcd": of_integers(math.gcd),
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
    "heaviside": lambda x, y: np.where(x == 0, y, x > 0),
    "hypot": lambda x, y: np.power(x * x + y * y, 0.5),
    "lcm": of_integers(math.lcm),
    "ldexp": lambda x, y: x * 2.0**y,
    "left_shift": lambda x, y: x * 2**y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "logaddexp2": lambda x, y: logaddexp(x * np.log(2), y * np.log(2)) / np.log(2),
    "logical_and": lambda x, y: (x != 0) & (y != 0),
    "logical_or": lambda x, y: (x != 0) | (y != 0),
    "logical_xor": lambda x, y: (x != 0) != (y != 0),
    "maximum": lambda x, y: np.where(x >= y, x, y),
    "minimum": lambda x, y: np.where(x <= y, x, y),
    "multiply": lambda x, y: x * y,
    "not_equal": lambda x, y: x != y,
    "polar": lambda x, y: x * (np.cos(y) + 1j * np.sin(y)),
    "power": lambda x, y: np.float_power(x, y),
    # The remainder has the divisor's sign.
    "remainder": lambda x, y: x - y * floor(x / y),
    "right_shift": lambda x, y: x // 2**y,
    "same_elements": lambda x, y: np.array((x != y).sum() == 0),
    "subtract": lambda x, y: x - y,
    "sum_of_many": lambda tensors: functools.reduce(lambda x, y: x + y, tensors),
}
