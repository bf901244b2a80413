"""NumPy's elementwise functions."""

from __future__ import annotations

from typing import Any

from opperf.operations.uses import Table, merge, use, uses

SAME_NAME = (
    *("absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil"),
    *("cos", "cosh", "degrees", "exp", "exp2", "expm1", "floor", "i0", "isfinite", "isinf"),
    *("isnan", "isneginf", "isposinf", "log", "log10", "log1p", "log2", "logical_not"),
    *("nan_to_num", "negative", "radians", "reciprocal", "sign", "signbit", "sin", "sinc"),
    *("rint", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
)

RENAMED = {
    "deg2rad": "radians",
    "fabs": "absolute",
    "fix": "trunc",
    "invert": "bitwise_not",
    "rad2deg": "degrees",
}
"""Operations of functions that have another name in NumPy."""

UNARY: Table = merge(
    uses((*SAME_NAME, *RENAMED), "x", other=RENAMED),
    {
        "clip": use("clip", "x=a low=a_min high=a_max"),
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
