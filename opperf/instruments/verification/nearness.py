"""Whether a result is as near to that of a reference as its dtype's rounding explains, and whether
that would tell a wrong result."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from opperf.instruments.verification.arrays import Array, Comparison, relative_errors

ROUNDING: Mapping[str, float] = {
    # Eight roundings, as the reference has some itself.
    **dict.fromkeys(("float64", "complex128"), 2.0**-50),
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    **dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz"), 2.0**-4),
    **dict.fromkeys(("float8_e5m2", "float8_e5m2fnuz"), 2.0**-3),
}
"""Largest relative error of one rounding, by dtype."""

SINGLE = 2.0**-24
"""That of single precision, and of what has no other."""

RANGE: Mapping[str, tuple[float, float]] = {
    **{
        name: (float(np.finfo(own).tiny), float(np.finfo(own).max))
        for own, names in {
            "float16": ("float16",),
            "float32": ("float32", "bfloat16", "complex64"),
            "float64": ("float64", "complex128"),
        }.items()
        for name in names
    },
    "float8_e4m3fn": (2.0**-6, 448.0),
    "float8_e5m2": (2.0**-14, 57344.0),
}
"""Least normal and largest number of a dtype."""

ANY_RANGE = RANGE["float32"]

EACH, TYPICAL = 16.0, 6.0
"""Roundings of its terms that an element may be off, and that the root mean square and the median
of all may: functions of single precision have 4 units in the last place, which are 8 roundings."""

WORST_CONDITION = 2.0**12
"""Largest part of a result, in terms of its inputs' change, that a change of them by one rounding
may explain: a step like one of floor is none."""


def rounding_of(*dtypes: str) -> float:
    """Returns the largest rounding of these dtypes; that of single precision of none."""
    return max((ROUNDING.get(dtype, SINGLE) for dtype in dtypes), default=SINGLE)


MOST_GROWN = 2.0**-9
"""Largest error to which roundings of a sum's terms grow: shorter dtypes are summed in longer
ones."""


class Allowed(NamedTuple):
    """The explanation of an error."""

    rounding: float
    terms: int
    """How many terms the sum behind an element has."""
    sensitivity: Any = 0.0
    """Change of each element by one rounding of the inputs, in roundings."""
    own: float = 0.0
    """Root mean square error of the framework's own implementation."""

    @property
    def unit(self) -> float:
        """The error of one rounding, grown as in a sum of so many terms in any order."""
        return max(self.rounding, min(self.rounding * math.sqrt(self.terms), MOST_GROWN))


OWN_MULTIPLE = 2.0
"""Times its own error that a framework's implementation may be off: of another summation order."""


class Wanted(NamedTuple):
    """One result that a reference says, and what was found."""

    place: str
    expected: Any
    found: Array
    """Its values in the shape of the array."""


def compare(wanted: Wanted, allowed: Allowed) -> Comparison:
    """Returns how an array compares with that of the reference."""
    expected, found = np.asarray(wanted.expected), np.asarray(wanted.found.values)
    if expected.ndim == 0 and found.size == 1:
        # Tensors of some frameworks have at least one axis.
        expected = expected.reshape(found.shape)
    if found.shape != expected.shape:
        text = f"its shape is {found.shape}, and the operation's {expected.shape}"
        return Comparison("exact", text)
    if found.dtype.kind not in "fc":
        return _compare_exactly(expected, found)
    wide = complex if "c" in expected.dtype.kind + found.dtype.kind else float
    return _compare_numbers(expected.astype(wide), found.astype(wide), wanted.found.dtype, allowed)


def _compare_exactly(expected: Any, found: Any) -> Comparison:
    differing = int(np.count_nonzero(expected != found))
    if not differing:
        return Comparison("exact")
    text = f"{differing} of {found.size} elements differ from the reference"
    return Comparison("exact", text, error=differing, allowed=0.0)


def scales_of(expected: Any, allowed: Allowed) -> Any:
    """Returns for each element what an error is measured by: its own size, the spread of all, and
    how it changes with the inputs."""
    spread = float(np.std(expected)) if expected.size else 0.0
    size = np.abs(expected) + spread
    return size + np.minimum(allowed.sensitivity, WORST_CONDITION * size)


def _compare_numbers(expected: Any, found: Any, dtype: str, allowed: Allowed) -> Comparison:
    errors = relative_errors(expected.ravel(), found.ravel())
    least, largest = RANGE.get(dtype, ANY_RANGE)
    with np.errstate(all="ignore"):
        # What is too large for the dtype becomes infinite.
        is_large = np.abs(expected) > largest * (1 - 2 * allowed.rounding)
        sent = np.where(is_large & np.isinf(found) & (expected * found > 0), found, expected)
    same = (sent == found) | (np.isnan(sent) & np.isnan(found))
    finite = np.isfinite(sent) & np.isfinite(found)
    odd = int(np.count_nonzero(~finite & ~same))
    if odd:
        text = f"{odd} of {found.size} elements are NaN or infinite in it or in the reference alone"
        return Comparison("exact", text, errors, math.inf, 0.0)
    if same.all():
        return Comparison("exact", errors=errors)
    sensitivity = np.broadcast_to(allowed.sensitivity, expected.shape)[finite]
    scales = scales_of(expected[finite], allowed._replace(sensitivity=sensitivity))
    off = np.abs(found - expected)[finite]
    floor = least + OWN_MULTIPLE * allowed.own
    return _judge(off, allowed.unit * scales, floor, allowed.own)._replace(errors=errors)


def _judge(off: Any, units: Any, floor: float, own: float) -> Comparison:
    """Returns the comparison of errors with what is one rounding of each element."""
    limits = EACH * (units + floor)
    worst = int(np.argmax(off - limits))
    if off[worst] > limits[worst]:
        text = (
            f"an element is off by {off[worst]:.2g}, where rounding explains {limits[worst]:.2g}; "
            f"{np.count_nonzero(off > limits)} of {off.size} are off by more"
        )
        return Comparison("allclose", text, error=float(off[worst]), allowed=float(limits[worst]))
    mean = math.sqrt(float(np.mean(np.square(off))))
    most = TYPICAL * math.sqrt(float(np.mean(np.square(units)))) + floor
    if mean > most:
        text = f"its root mean square error is {mean:.2g}, where rounding explains {most:.2g}"
        return Comparison("rmse", text, error=mean, allowed=most)
    middle = float(np.median(off / (units + floor)))
    if middle > TYPICAL:
        text = f"half of its elements are off by {middle:.2g} roundings or more, not {TYPICAL:g}"
        return Comparison("rmse", text, error=middle, allowed=TYPICAL)
    return Comparison("rmse" if own else "allclose", error=mean, allowed=most)


def passing_wrong(
    found: Sequence[Array], passes: Callable[[list[Array]], bool], skipped: Collection[str] = ()
) -> str:
    """Returns which certainly wrong results would pass in place of those found; empty if none
    would. Some changes leave some results as they should be."""
    has_one_value = all(own.is_exact or own.size < 2 for own in found)
    for name, change in CHANGES.items():
        if name in skipped:
            continue
        made = [own._replace(values=change(np.asarray(own.values))) for own in found]
        same = all(
            np.array_equal(other.values, own.values, equal_nan=not own.is_exact)
            for other, own in zip(made, found, strict=True)
        )
        is_right = same and (name in MAY_BE_RIGHT or (name != "zeros" and has_one_value))
        if not is_right and passes(made):
            return name
    return ""


def _mean(values: Any) -> Any:
    if values.dtype.kind not in "fc":
        return values
    finite = values[np.isfinite(values)]
    wide = complex if values.dtype.kind == "c" else float
    return np.full_like(values, np.mean(finite, dtype=wide)) if finite.size else values


def _shuffled(values: Any) -> Any:
    if values.dtype.kind not in "fc":
        return values
    order = np.random.default_rng(0).permutation(values.size)
    return values.ravel()[order].reshape(values.shape)


def _truncated(values: Any) -> Any:
    made = values.copy()
    made.reshape(-1)[values.size // 2 :] = 0
    return made


REORDERED = "its elements in another order"

CHANGES: Mapping[str, Callable[[Any], Any]] = {
    "zeros": np.zeros_like,
    "the mean of its elements": _mean,
    REORDERED: _shuffled,
    "its first half": _truncated,
}
"""Certainly wrong results that are made of right ones."""

MAY_BE_RIGHT = (REORDERED, "its first half")
"""Changes that leave some results as they should be."""
