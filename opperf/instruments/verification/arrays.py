"""Equality of two arrays of results, beside the same array computed in float64, and their relative
errors. The two are equal if they have one dtype and shape, and each element is within the
tolerance; else if the error of the one from float64 is hardly larger than that of the other, as
rounding alone explains it then; without an array in float64 if the cosine of the two is almost 1.
NaN equals NaN. Integers and truth values have to be the same."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from opperf.model import Method

MULTIPLIER, LARGE_MULTIPLIER = 2.0, 3.0
"""Largest ratio of the root mean square errors of both from float64: errors of two orders of
summation are of one size, and scatter more where they are of few elements or of few digits."""

FEW_ELEMENTS = 1000
LOOSE_TOLERANCE = 2e-2
HALF = ("float16", "bfloat16")
"""Arrays of fewer elements, of these dtypes, compared with at least this tolerance, and the weights
of convolutions of 1x1, have the larger multiplier."""

SLACK = 0.1
"""Part of the tolerance that is added to the allowed error, as eager's own may be zero."""

LEAST_COSINE = 0.99


class Array(NamedTuple):
    """An array of a result."""

    dtype: str
    """The framework's name of it."""
    shape: tuple[int, ...]
    values: Any
    """Its elements as a vector, of a dtype of NumPy's own; of a very large array every n-th."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_exact(self) -> bool:
        """Whether its elements are integers or truth values."""
        return np.asarray(self.values).dtype.kind not in "fc"


class Errors(NamedTuple):
    """Relative errors of the elements of an array."""

    mean: float
    max: float
    elements: int


NO_ERRORS = Errors(0.0, 0.0, 0)


class Comparison(NamedTuple):
    """How an array compares with that of eager mode."""

    method: Method
    reason: str = ""
    """Why they are not equal; empty if they are."""
    errors: Errors = NO_ERRORS
    error: float | None = None
    allowed: float | None = None

    @property
    def is_equal(self) -> bool:
        return not self.reason


def compare(expected: Array, found: Array, double: Array | None, tolerance: float) -> Comparison:
    """Returns how an array compares with that of eager mode; `double` is of a run in float64."""
    for what, own, other in zip(("dtype", "shape"), found, expected, strict=False):
        if own != other:
            return Comparison("exact", f"its {what} is {own}, and in eager mode {other}")
    if expected.is_exact:
        return _compare_exactly(expected, found)
    a, b = _wide(expected.values), _wide(found.values)
    errors = relative_errors(a, b)
    if _are_same(a, b).all():
        return Comparison("exact", errors=errors)
    if np.isclose(b, a, rtol=tolerance, atol=tolerance, equal_nan=True).all():
        return Comparison("allclose", errors=errors)
    if double is None or double.shape != expected.shape:
        return _compare_by_cosine(a, b)._replace(errors=errors)
    multiplier = multiplier_of(expected, tolerance)
    return _compare_errors(a, b, _wide(double.values), multiplier, tolerance)._replace(
        errors=errors
    )


def are_identical(one: Array, other: Array) -> bool:
    """Whether two arrays have the same elements; NaN equals NaN."""
    if one[:2] != other[:2]:
        return False
    if one.is_exact:
        return bool(np.array_equal(one.values, other.values))
    return bool(_are_same(_wide(one.values), _wide(other.values)).all())


def _compare_exactly(expected: Array, found: Array) -> Comparison:
    differing = int(np.count_nonzero(expected.values != found.values))
    if not differing:
        return Comparison("exact")
    text = f"{differing} of {len(expected.values)} elements differ"
    return Comparison("exact", text, error=differing, allowed=0.0)


def _compare_errors(a: Any, b: Any, double: Any, multiplier: float, tolerance: float) -> Comparison:
    finite = [np.isfinite(values) for values in (a, b, double)]
    is_lost = ~finite[1] & ~_are_same(a, b) & ~_are_same(double, b)
    # Where eager alone overflows, the other is more precise.
    is_gained = finite[1] & ~finite[0] & ~finite[2]
    odd = int(np.count_nonzero(is_lost | is_gained))
    if odd:
        return Comparison("rmse", _odd_text(odd, len(a)), error=math.inf, allowed=0.0)
    used = np.logical_and.reduce(finite)
    own = root_mean_square(double[used] - a[used])
    error = root_mean_square(double[used] - b[used])
    allowed = multiplier * own + SLACK * tolerance
    if error <= allowed:
        return Comparison("rmse", error=error, allowed=allowed)
    text = (
        f"its root mean square error from float64 is {error:.2g}, where {allowed:.2g} is allowed: "
        f"{multiplier:g} times that of eager mode, {own:.2g}, and {SLACK * tolerance:.2g}"
    )
    return Comparison("rmse", text, error=error, allowed=allowed)


def _compare_by_cosine(a: Any, b: Any) -> Comparison:
    finite = np.isfinite(a) & np.isfinite(b)
    odd = int(np.count_nonzero(~finite & ~_are_same(a, b)))
    if odd:
        return Comparison("cosine", _odd_text(odd, len(a)), error=0.0, allowed=LEAST_COSINE)
    cosine = _cosine(a[finite], b[finite])
    if cosine >= LEAST_COSINE:
        return Comparison("cosine", error=cosine, allowed=LEAST_COSINE)
    text = f"the cosine of its elements and those of eager mode is {cosine:.3g}"
    text += f", below {LEAST_COSINE:g}"
    return Comparison("cosine", text, error=cosine, allowed=LEAST_COSINE)


def _odd_text(odd: int, count: int) -> str:
    return f"{odd} of {count} elements are finite numbers in one of the modes only"


def multiplier_of(expected: Array, tolerance: float) -> float:
    """Returns the allowed ratio of errors from float64."""
    is_pointwise = len(expected.shape) == 4 and expected.shape[2:] == (1, 1)
    is_large = (
        expected.dtype in HALF
        or expected.size < FEW_ELEMENTS
        or is_pointwise
        or tolerance >= LOOSE_TOLERANCE
    )
    return LARGE_MULTIPLIER if is_large else MULTIPLIER


def relative_errors(expected: Any, found: Any) -> Errors:
    """Returns the errors of elements, each as a share of the expected one, or of the root mean
    square of all where that is larger; infinite if one alone is a finite number, or of nothing but
    zeros."""
    if not len(expected):
        return NO_ERRORS
    expected, found = _wide(expected), _wide(found)
    finite = np.isfinite(expected)
    size = root_mean_square(expected[finite])
    with np.errstate(all="ignore"):
        errors = np.abs(found - expected) / np.maximum(np.abs(expected), size)
    errors[_are_same(expected, found)] = 0.0
    errors[np.isnan(errors)] = math.inf
    return Errors(float(errors.mean()), float(errors.max()), len(errors))


def _wide(values: Any) -> Any:
    """Returns elements in float64, of complex ones both parts."""
    listed = np.asarray(values)
    if listed.dtype.kind == "c":
        listed = np.ascontiguousarray(listed.astype("complex128")).view("float64")
    return listed.astype("float64", copy=False)


def _are_same(one: Any, other: Any) -> Any:
    return (one == other) | (np.isnan(one) & np.isnan(other))


def root_mean_square(values: Any) -> float:
    """Returns the root of the mean square, without an overflow of the squares; 0 of nothing."""
    largest = float(np.abs(values).max(initial=0.0))
    return largest * math.sqrt(np.mean(np.square(values / largest))) if largest else 0.0


def _cosine(one: Any, other: Any) -> float:
    norms = [float(np.linalg.norm(values)) for values in (one, other)]
    if not any(norms):
        return 1.0
    if not all(norms):
        return 0.0
    return float(np.dot(one / norms[0], other / norms[1]))
