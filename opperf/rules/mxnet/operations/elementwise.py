"""MXNet's operators that treat elements one by one."""

from __future__ import annotations

from typing import Any

from opperf.operations.uses import Table, family, merge, use

X = "x=data|x|a"
"""The one tensor, as `mx.nd` and `mx.np` call it."""

OF_ND = (
    *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil"),
    *("cos", "cosh", "degrees", "digamma", "erf", "erfinv", "exp", "expm1", "floor"),
    *("gamma", "gammaln", "identity", "log", "log10", "log1p", "log2", "log_sigmoid"),
    *("logical_not", "mish", "negative", "ones_like", "radians", "rcbrt", "reciprocal", "relu"),
    *("rint", "rsqrt", "sigmoid", "sign", "sin", "sinh", "softsign", "sqrt", "square"),
    *("tan", "tanh", "trunc", "zeros_like", "abs", "fix", "round"),
)
OF_NUMPY = (
    *("absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "around"),
    *("bitwise_not", "cbrt", "ceil", "copy", "cos", "cosh", "degrees", "exp", "expm1", "fix"),
    *("floor", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "log", "log10", "log1p"),
    *("log2", "logical_not", "nan_to_num", "negative", "radians", "reciprocal", "rint", "sign"),
    *("sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
)
OTHER_UNARY = {
    "abs": "absolute",
    "around": "rint",
    "copy": "identity",
    "fix": "trunc",
    "round": "round_half_away",
}
"""What MXNet calls otherwise, and the operation that it is."""

UNARY = merge(
    family(OF_ND, X, other=OTHER_UNARY),
    family(OF_NUMPY, X, "_npi_{}", OTHER_UNARY),
    family(("copy",), X, "_np_{}", OTHER_UNARY),
    family(("relu", "sigmoid"), X, "_npx_{}"),
    {
        # They differ from what they are here in their gradients alone.
        "BlockGrad": use("identity", X),
        "MakeLoss": use("identity", X),
        "make_loss": use("identity", X),
        "_contrib_gradientmultiplier": use("identity", "x=data -scalar"),
        "_contrib_round_ste": use("round_half_away", X),
        "_contrib_sign_ste": use("sign", X),
        "_contrib_div_sqrt_dim": use("divided_by_root_of_width", X),
        "_contrib_quadratic": use(
            "polynomial", lambda data, a, b, c: {"x": data, "coefficients": (a, b, c)}
        ),
        "_copyto": use("identity", "x=data -out"),
        "_identity_with_attr_like_rhs": use("identity", "x=lhs -rhs"),
        "_npi_polyval": use("polynomial", "coefficients=p x"),
        "clip": use("clip", "x=data low=a_min high=a_max"),
        "hard_sigmoid": use("affine_clip", "x=data slope=alpha offset=beta"),
        "cast_storage": use("identity", "x=data -stype"),
    },
)

TWO = "x=lhs|x1 y=rhs|x2"
NUMBER = "x=data y=scalar"
LEFT_NUMBER = "y=data x=scalar"

OTHER_BINARY = {
    "div": "divide",
    "lesser": "less",
    "lesser_equal": "less_equal",
    "minus": "subtract",
    "mod": "remainder",
    "mul": "multiply",
    "plus": "add",
    "sub": "subtract",
    "true_divide": "divide",
}
"""What MXNet calls otherwise, and the operation that it is."""

COMPARED = ("equal", "greater", "greater_equal", "lesser", "lesser_equal", "not_equal")
LOGICAL = ("logical_and", "logical_or", "logical_xor")
CALCULATED = ("add", "div", "mul", "sub")
SHARED = ("hypot", "maximum", "minimum", "mod", "power")
BOTH_NUMPY = (
    *("add", "arctan2", "copysign", "equal", "floor_divide", "fmax", "fmin", "fmod"),
    *("greater", "greater_equal", "ldexp", "less", "less_equal", "logaddexp", "mod"),
    *("multiply", "not_equal", "power", "subtract", "true_divide"),
)
LEFT_OF_NUMPY = (
    *("arctan2", "copysign", "floor_divide", "fmod", "ldexp", "mod", "power", "subtract"),
    "true_divide",
)
WHOLE = {
    "bitwise_and": "bitwise_and",
    "bitwise_left_shift": "left_shift",
    "bitwise_or": "bitwise_or",
    "bitwise_right_shift": "right_shift",
    "bitwise_xor": "bitwise_xor",
    "gcd": "gcd",
    "lcm": "lcm",
}
"""Operators of whole numbers, and the operations that they are."""
SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")


def whole_number(data: Any, scalar: float) -> dict[str, Any]:
    """MXNet holds a whole number as a floating one."""
    return {"x": data, "y": int(scalar)}


def whole_number_left(data: Any, scalar: float) -> dict[str, Any]:
    """The same with the number as the left operand."""
    return {"x": int(scalar), "y": data}


BINARY = merge(
    family((*CALCULATED, *COMPARED, *LOGICAL, *SHARED), TWO, "broadcast_{}", OTHER_BINARY),
    family(CALCULATED, TWO, "elemwise_{}", OTHER_BINARY),
    family((*COMPARED, *LOGICAL, *SHARED), TWO, "_{}", OTHER_BINARY),
    family((*BOTH_NUMPY, *LOGICAL, "hypot"), TWO, "_npi_{}", OTHER_BINARY),
    family(WHOLE, TWO, "_npi_{}", WHOLE),
    family(
        (*COMPARED, *LOGICAL, *SHARED, "div", "minus", "mul", "plus"),
        NUMBER,
        "_{}_scalar",
        OTHER_BINARY,
    ),
    family(("div", "minus", "mod", "power"), LEFT_NUMBER, "_r{}_scalar", OTHER_BINARY),
    family((*BOTH_NUMPY, *LOGICAL), NUMBER, "_npi_{}_scalar", OTHER_BINARY),
    family(LEFT_OF_NUMPY, LEFT_NUMBER, "_npi_r{}_scalar", OTHER_BINARY),
    {f"_npi_{name}_scalar": use(WHOLE[name], whole_number) for name in WHOLE},
    {f"_npi_r{name}_scalar": use(WHOLE[name], whole_number_left) for name in SHIFTS},
    {
        "_contrib_allclose": use("allclose", "x=a y=b", relative=1e-5, absolute=1e-8),
        "_grad_add": use("add", TWO),
        "_npi_share_memory": use("shares_memory", "x=a y=b"),
        "_scatter_elemwise_div": use("divide", TWO),
        "_scatter_minus_scalar": use("subtract", NUMBER),
        "_scatter_plus_scalar": use("add", NUMBER),
        "add_n": use("sum_of_many", "tensors=args"),
    },
)

TABLE: Table = merge(UNARY, BINARY)
