"""Elementwise functions: ufuncs of one array and of two, and functions like them."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.domains import (
    BITS,
    DOMAINS,
    PAIRS,
    RATIO_PAIR,
    SHIFTS,
    WHOLE_DTYPE,
    Pair,
    with_missing,
)
from opperf.rules.families import elementwise as shared
from opperf.rules.numpy.names import COMPLEX
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import column, square
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    ABOVE_ONE,
    NORMAL,
    OPEN_UNIT,
    POSITIVE,
    REQUESTED,
    Arguments,
    below,
    fixed,
    tensor,
)
from opperf.rules.variants import Variants, own

FAMILIES = Families()

DATE = "datetime64[D]"

DAYS = below(20000)
"""Dates from 1970 to 2024."""

ONE: dict[str, tuple[Fill, str]] = {
    "bitwise_count": (BITS, WHOLE_DTYPE),
    **dict.fromkeys(("isneginf", "isposinf"), (DOMAINS["isinf"], REQUESTED)),
    "isnat": (with_missing(DAYS), DATE),
    **dict.fromkeys(("iscomplex", "isreal"), (DOMAINS["isreal"], COMPLEX)),
}
"""Fill and dtype of the array of functions that normal numbers of the requested dtype do not
suit."""

ABOUT_COMPLEX = frozenset({"conjugate", "real", "real_if_close"})
"""Functions of complex numbers, which return real ones as they are."""


@FAMILIES.category("unary")
def unary(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One array of real numbers, and also one of complex numbers for functions of these."""
    array = operator.tensors[0].name
    for shape, why in shared.of_one(size):
        yield {array: fixed(*shape), **why}
    if operator.name in ABOUT_COMPLEX:
        yield {array: fixed(*square(size), dtype=COMPLEX), WHY: "complex numbers, as of a spectrum"}


@FAMILIES.add(*ONE)
def fixed_dtype(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One array of dates, or of whole, complex or infinite numbers."""
    fill, dtype = entry_of(ONE, operator)
    array = operator.tensors[0].name
    for shape, why in shared.of_one(size):
        yield {array: fixed(*shape, fill=fill, dtype=dtype), **why}


@FAMILIES.add("angle", "imag")
def not_of_real(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One array of complex numbers: the results of real ones are one number, or one of two."""
    array = operator.tensors[0].name
    for shape, why in shared.of_one(size):
        yield {array: tensor(*shape, dtype=COMPLEX), **why}


RIGHT: dict[str, tuple[Pair, str]] = {
    "float_power": (PAIRS["power"], REQUESTED),
    "divmod": (RATIO_PAIR, REQUESTED),
    # The exponent is a whole number for every dtype of the first array.
    "ldexp": (PAIRS["ldexp"], WHOLE_DTYPE),
}
"""Fills of both arrays and dtype of the second, where NumPy restricts them more than the operation
does."""


@FAMILIES.add(*RIGHT)
def right_operand(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two arrays, the second of a fill or dtype of its own."""
    fills, dtype = entry_of(RIGHT, operator)
    left, right = (parameter.name for parameter in operator.tensors[:2])
    for left_shape, right_shape, why in shared.broadcasting(size):
        yield {
            left: fixed(*left_shape, fill=fills.left),
            right: fixed(*right_shape, fill=fills.right, dtype=dtype),
            WHY: why,
        }


@FAMILIES.category("binary")
def binary(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two arrays, one broadcast to the other's shape where they differ."""
    left, right = (parameter.name for parameter in operator.tensors[:2])
    for left_shape, right_shape, why in shared.broadcasting(size):
        yield {left: fixed(*left_shape), right: fixed(*right_shape), WHY: why}


@FAMILIES.add("round")
def round_to(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays to round to whole numbers, and to tenths."""
    yield {
        "a": fixed(*square(size)),
        "decimals": 0,
        WHY: "to whole numbers: one pass, where tenths take three",
    }
    for shape, why in shared.of_one(size):
        yield {"a": fixed(*shape), "decimals": 1, **why}


_FROM_MINUS_ONE_TO_ONE = (
    (OPEN_UNIT, "between -1 and 1: every element is checked, and the result is real"),
    (ABOVE_ONE, "above 1, where only complex results exist: the array is converted first"),
)
_NOT_NEGATIVE = "positive numbers: every element is checked, and the result is real"

BEYOND: dict[str, tuple[tuple[Fill, str], ...]] = {
    **dict.fromkeys(("emath.arccos", "emath.arcsin", "emath.arctanh"), _FROM_MINUS_ONE_TO_ONE),
    **dict.fromkeys(
        ("emath.log", "emath.log10", "emath.log2"),
        (
            (POSITIVE, _NOT_NEGATIVE),
            (NORMAL, "half below zero, where logarithms have an angle: converted to complex first"),
        ),
    ),
    "emath.sqrt": (
        (POSITIVE, _NOT_NEGATIVE),
        (NORMAL, "half below zero, as discriminants of quadratics: converted to complex first"),
    ),
}
"""Fills inside the domain of real results, and outside it, where these functions return complex
numbers, each with why."""


@FAMILIES.add(*BEYOND)
def beyond_domain(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """An array inside the domain of real results, and one outside it."""
    for fill, why in entry_of(BEYOND, operator):
        yield {"x": fixed(*square(size), fill=fill), WHY: why}


EXTENDED_POWERS: dict[str, Variants] = {
    "emath.logn": lambda size: [
        {
            "n": 2,
            "x": fixed(*square(size), fill=POSITIVE),
            WHY: "to base 2, as bits of information: each logarithm divided by the base's",
        }
    ],
    "emath.power": lambda size: [
        {"x": fixed(*square(size), fill=fill), "p": power, WHY: why}
        for fill, power, why in (
            (POSITIVE, 2, "squares of positive numbers: checked, and real"),
            (
                NORMAL,
                1.5,
                "powers by a fraction of numbers half of which are negative, which are complex",
            ),
        )
    ],
}


@FAMILIES.add(*EXTENDED_POWERS)
def extended_powers(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays whose logarithm to base 2 and whose square are computed."""
    return own(EXTENDED_POWERS, operator, size)


DATES: dict[str, Variants] = {
    "is_busday": lambda size: [
        {"dates": dates(size), WHY: "days of half a century, as to pick those of trade"}
    ],
    "busday_count": lambda size: [
        {
            "begindates": dates(size),
            "enddates": dates(size),
            WHY: "working days between two dates, as times of delivery; up to decades apart",
        }
    ],
    "busday_offset": lambda size: [
        {
            "dates": dates(size),
            "offsets": fixed(*column(size), fill=SHIFTS, dtype="int64"),
            "roll": "forward",
            WHY: "a few working days later, as the settlement of trades",
        }
    ],
}


def dates(size: Preset) -> TensorSpec:
    """An array of days of half a century."""
    return fixed(*column(size), fill=DAYS, dtype=DATE)


@FAMILIES.add(*DATES)
def working_days(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays of days of half a century."""
    return own(DATES, operator, size)
