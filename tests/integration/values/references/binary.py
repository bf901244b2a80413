"""Operators of two tensors, of many, and of a tensor and a number, element by element."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from references import Array, Reference, named, positional, turned


def ldexp(x: Array, exponent: Any) -> Array:
    """NumPy's takes whole exponents only, MXNet's floating ones."""
    return x * 2.0**exponent


FUNCTIONS: dict[str, Any] = {
    "add": np.add,
    "arctan2": np.arctan2,
    "bitwise_and": np.bitwise_and,
    "bitwise_left_shift": np.left_shift,
    "bitwise_or": np.bitwise_or,
    "bitwise_right_shift": np.right_shift,
    "bitwise_xor": np.bitwise_xor,
    "copysign": np.copysign,
    "div": np.divide,
    "equal": np.equal,
    "floor_divide": np.floor_divide,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": np.fmod,
    "gcd": np.gcd,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "hypot": np.hypot,
    "lcm": np.lcm,
    "ldexp": ldexp,
    "less": np.less,
    "less_equal": np.less_equal,
    "lesser": np.less,
    "lesser_equal": np.less_equal,
    "logaddexp": np.logaddexp,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "minus": np.subtract,
    "mod": np.mod,
    "mul": np.multiply,
    "multiply": np.multiply,
    "not_equal": np.not_equal,
    "plus": np.add,
    "power": np.power,
    "sub": np.subtract,
    "subtract": np.subtract,
    "true_divide": np.true_divide,
}

TWO: dict[str, Reference] = {name: positional(function) for name, function in FUNCTIONS.items()}

WHOLE = frozenset({"gcd", "lcm"} | {name for name in FUNCTIONS if name.startswith("bitwise")})
"""Operators of whole numbers, whose number MXNet holds as a floating one."""


def with_number(name: str, left: bool) -> Reference:
    """The reference of an operator of a tensor and a number, the number on the left or not."""
    function = FUNCTIONS[name]
    order = turned(function) if left else positional(function)
    if name not in WHOLE:
        return order
    return lambda data, scalar: order(data=data, scalar=int(scalar))


NUMBER: dict[str, Reference] = {
    **{f"{name}_scalar": with_number(name, left=False) for name in FUNCTIONS},
    **{f"r{name}_scalar": with_number(name, left=True) for name in FUNCTIONS},
}

COMPARED = ("equal", "greater", "greater_equal", "lesser", "lesser_equal", "not_equal")
LOGICAL = ("logical_and", "logical_or", "logical_xor")
CALCULATED = ("add", "div", "mul", "sub")
SHARED = ("hypot", "maximum", "minimum", "mod", "power")
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")
OF_NUMPY = (
    *("add", "arctan2", "copysign", "equal", "floor_divide", "fmax", "fmin", "fmod", "gcd"),
    *("greater", "greater_equal", "lcm", "ldexp", "less", "less_equal", "logaddexp", "mod"),
    *("multiply", "not_equal", "power", "subtract", "true_divide", *BITWISE, *SHIFTS),
)
LEFT_OF_NUMPY = (
    *("arctan2", "copysign", "floor_divide", "fmod", "ldexp", "mod", "power", "subtract"),
    *("true_divide", *SHIFTS),
)


def scalars(names: tuple[str, ...], prefix: str = "_", left: bool = False) -> dict[str, Reference]:
    """References of the operators of a tensor and a number of these base names."""
    start = "r" if left else ""
    return {f"{prefix}{start}{name}_scalar": NUMBER[f"{start}{name}_scalar"] for name in names}


def added(**given: Any) -> Array:
    """The sum of a list of tensors."""
    (arrays,) = given.values()
    return functools.reduce(np.add, arrays)


def close(a: Array, b: Array) -> Array:
    """Whether all elements are close, as MXNet's own tolerances have it."""
    return np.array(np.allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=True))


REFERENCES: dict[str, Reference] = {
    **named((*CALCULATED, *COMPARED, *LOGICAL, *SHARED), TWO, "broadcast_"),
    **named(CALCULATED, TWO, "elemwise_"),
    **named((*COMPARED, *LOGICAL, *SHARED), TWO, "_"),
    **named((*OF_NUMPY, *LOGICAL, "hypot"), TWO, "_npi_"),
    **scalars((*COMPARED, *LOGICAL, *SHARED, "div", "minus", "mul", "plus")),
    **scalars(("div", "minus", "mod", "power"), left=True),
    **scalars((*OF_NUMPY, *LOGICAL), "_npi_"),
    **scalars(LEFT_OF_NUMPY, "_npi_", left=True),
    "_grad_add": TWO["add"],
    "_scatter_elemwise_div": TWO["div"],
    "_scatter_minus_scalar": NUMBER["minus_scalar"],
    "_scatter_plus_scalar": NUMBER["plus_scalar"],
    "_contrib_allclose": close,
    "_identity_with_attr_like_rhs": lambda lhs, rhs: lhs,
    "add_n": added,
}
