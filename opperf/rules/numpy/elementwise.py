"""Elementwise functions: ufuncs of one array and of two, and functions like them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opperf.model import Fill, Operator, TensorSpec
from opperf.operations.uses import Table, merge, use, uses
from opperf.operations.work.sizes import COPY
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
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import FEW, column, square, tiny
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    ABOVE_ONE,
    COMPLEX,
    NORMAL,
    OPEN_UNIT,
    POSITIVE,
    REQUESTED,
    Arguments,
    below,
    call,
    fixed,
    tensor,
)
from opperf.rules.variants import Variants, add_rows

SAME_NAME = (
    *("absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil"),
    *("cos", "cosh", "degrees", "exp", "exp2", "expm1", "floor", "i0", "isfinite", "isinf"),
    *("isnan", "isneginf", "isposinf", "log", "log10", "log1p", "log2", "logical_not"),
    *("nan_to_num", "negative", "radians", "reciprocal", "sign", "signbit", "sin", "sinc"),
    *("rint", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
)

RENAMED = {"deg2rad": "radians", "fabs": "absolute", "fix": "trunc", "rad2deg": "degrees"}
"""Operations of functions that have another name in NumPy."""

UNARY: Table = merge(
    uses((*SAME_NAME, *RENAMED), "x", other=RENAMED),
    {
        "clip": use("clip", "x=a low=a_min high=a_max"),
        "invert": use("bitwise_not", "x"),
        "ones_like": use("ones_like", "x=a"),
        "zeros_like": use("zeros_like", "x=a"),
        "polyval": use("polynomial", "coefficients=p x"),
    },
)

OF_TWO = (
    *("add", "arctan2", "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "divide", "equal"),
    *("floor_divide", "fmax", "fmin", "fmod", "gcd", "greater", "greater_equal", "heaviside"),
    *("hypot", "lcm", "ldexp", "left_shift", "less", "less_equal", "logaddexp", "logaddexp2"),
    *("logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "not_equal"),
    *("power", "remainder", "right_shift", "subtract"),
)

CLOSE: dict[str, Any] = {"relative": 1e-5, "absolute": 1e-8}
"""NumPy's default tolerances."""

BINARY: Table = merge(
    uses(OF_TWO, "x=x1 y=x2"),
    {
        "allclose": use("allclose", "x=a y=b", **CLOSE),
        "array_equal": use("same_elements", "x=a1 y=a2"),
        "array_equiv": use("same_elements", "x=a1 y=a2"),
        "isclose": use("isclose", "x=a y=b", **CLOSE),
    },
)

OPERATIONS: Table = merge(UNARY, BINARY)


FAMILIES = Families()

WORK = dict.fromkeys(("conjugate", "imag", "positive", "real"), COPY)

DATE = "datetime64[D]"

DAYS = below(20000)
"""Dates from 1970 to 2024."""

ONE: dict[str, tuple[Fill, str]] = {
    "bitwise_count": (BITS, WHOLE_DTYPE),
    "isnat": (with_missing(DAYS), DATE),
    **dict.fromkeys(("iscomplex", "isreal"), (DOMAINS["isreal"], COMPLEX)),
}
"""Fill and dtype of functions that normal numbers of the requested dtype do not suit."""

ABOUT_COMPLEX = frozenset({"real", "real_if_close"})
"""Functions of complex numbers that are called with real ones too."""


@FAMILIES.category("unary")
def unary(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One array of real numbers, and also one of complex numbers for functions of these."""
    array = operator.tensors[0].name
    shapes = [*shared.of_one(size)]
    # Real numbers are returned as they are, whatever their size.
    for shape, why in shapes[-1:] if operator.name == "real_if_close" else shapes:
        yield {array: fixed(*shape), **why}
    if operator.name in ABOUT_COMPLEX:
        yield {array: fixed(*square(size), dtype=COMPLEX), WHY: "complex numbers, like a spectrum"}


@FAMILIES.add(*ONE)
def fixed_dtype(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One array of dates, or of whole, complex or infinite numbers."""
    fill, dtype = entry_of(ONE, operator)
    array = operator.tensors[0].name
    for shape, why in shared.of_one(size):
        yield {array: fixed(*shape, fill=fill, dtype=dtype), **why}


@FAMILIES.add("angle", "conjugate")
def not_of_real(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One array of complex numbers: of real ones the results are they, or one of two numbers."""
    array = operator.tensors[0].name
    for shape, why in shared.of_one(size, name=operator.name):
        yield {array: tensor(*shape, dtype=COMPLEX), **why}


@FAMILIES.add("imag", "real")
def unread(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The call alone, as a view of complex numbers reads none of them."""
    yield {operator.tensors[0].name: tensor(*tiny(size), dtype=COMPLEX), **FEW}


RIGHT: dict[str, tuple[Pair, str]] = {
    "float_power": (PAIRS["power"], REQUESTED),
    "divmod": (RATIO_PAIR, REQUESTED),
    # The exponent is an integer for every dtype of the first array.
    "ldexp": (PAIRS["ldexp"], WHOLE_DTYPE),
}
"""Fills of both arrays and dtype of the second, where NumPy restricts them more."""


@FAMILIES.category("binary")
@FAMILIES.add(*RIGHT, replaces="the second array is of integers, which shared rows are not")
def binary(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two arrays, or one and a row: most functions take longer than any order of elements."""
    fills, dtype = next((RIGHT[n] for n in operator.names if n in RIGHT), (Pair(), REQUESTED))
    left, right = (parameter.name for parameter in operator.tensors[:2])
    for left_shape, right_shape, notes in shared.broadcasting(size)[:2]:
        yield {
            left: fixed(*left_shape, fill=fills.left),
            right: fixed(*right_shape, fill=fills.right, dtype=dtype),
            **notes,
        }


@FAMILIES.add("round")
def round_to(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Arrays to round to integers, and to tenths."""
    yield {"a": fixed(*square(size)), "decimals": 0, WHY: "to integers: a pass; tenths take three"}
    for shape, why in shared.of_one(size, shared.TO_TENTHS):
        yield {"a": fixed(*shape), "decimals": 1, **why}


_FROM_MINUS_ONE_TO_ONE = (
    (OPEN_UNIT, "between -1 and 1: every element is checked, and the result is real"),
    (ABOVE_ONE, "above 1, where only complex results exist: the array is converted first"),
)
_REAL = (POSITIVE, "positive numbers: every element is checked, and the result is real")

BEYOND: dict[str, tuple[tuple[Fill, str], ...]] = {
    **dict.fromkeys(("emath.arccos", "emath.arcsin", "emath.arctanh"), _FROM_MINUS_ONE_TO_ONE),
    **dict.fromkeys(
        ("emath.log", "emath.log10", "emath.log2"),
        (_REAL, (NORMAL, "half below zero, where logarithms have an angle: to complex first")),
    ),
    "emath.sqrt": (_REAL, (NORMAL, "half below zero, as discriminants: to complex first")),
}
"""Fills inside the domain of real results, and outside it, where they are complex."""


@FAMILIES.add(*BEYOND)
def beyond_domain(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """An array inside the domain of real results, and one outside it."""
    for fill, why in entry_of(BEYOND, operator):
        yield {"x": fixed(*square(size), fill=fill), WHY: why}


def dates(size: Preset) -> TensorSpec:
    """An array of days of half a century."""
    return fixed(*column(size), fill=DAYS, dtype=DATE)


ROWS: dict[str, Variants] = {
    "emath.logn": lambda size: {
        "to base 2, as bits of information: each logarithm divided by the base's": call(
            n=2, x=fixed(*square(size), fill=POSITIVE)
        )
    },
    "emath.power": lambda size: [
        {"x": fixed(*square(size), fill=fill), "p": power, WHY: why}
        for fill, power, why in (
            (POSITIVE, 2, "squares of positive numbers: checked, and real"),
            (NORMAL, 1.5, "powers by a fraction of numbers, half of them negative: complex"),
        )
    ],
    "is_busday": lambda size: {"days of decades, to pick those of trade": call(dates=dates(size))},
    "busday_count": lambda size: {
        "working days between any two dates": call(begindates=dates(size), enddates=dates(size))
    },
    "busday_offset": lambda size: {
        "a few working days later, as the settlement of trades": call(
            dates=dates(size),
            offsets=fixed(*column(size), fill=SHIFTS, dtype="int64"),
            roll="forward",
        )
    },
}
add_rows(FAMILIES.add, ROWS)


@FAMILIES.also("power", "float_power")
def squares(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Squares, for which there is no general power."""
    yield {"x1": fixed(*square(size)), "x2": 2, WHY: "squares of errors: one exponent for all"}
