"""MXNet's elementwise operators."""

from __future__ import annotations

from typing import Any

from opperf.operations.uses import Table, Values, merge, use, uses

X = "x=data|x|a"
"""The one tensor, under its names in `mx.nd` and `mx.np`."""

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
RENAMED_UNARY = {
    "abs": "absolute",
    "around": "rint",
    "copy": "identity",
    "fix": "trunc",
    "round": "round_half_away",
}
"""Operations of operators that have another name in MXNet."""

UNARY = merge(
    uses(OF_ND, X, other=RENAMED_UNARY),
    uses(OF_NUMPY, X, "_npi_{}", RENAMED_UNARY),
    uses(("copy",), X, "_np_{}", RENAMED_UNARY),
    uses(("relu", "sigmoid"), X, "_npx_{}"),
    {
        # Only their gradients differ from those of these operations.
        "BlockGrad": use("identity", X),
        "MakeLoss": use("identity", f"{X} -normalization -valid_thresh"),
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

RENAMED_BINARY = {
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
"""Operations of operators that have another name in MXNet."""

COMPARISONS = ("equal", "greater", "greater_equal", "lesser", "lesser_equal", "not_equal")
LOGICAL = ("logical_and", "logical_or", "logical_xor")
ARITHMETIC = ("add", "div", "mul", "sub")
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
"""Operations of the operators of whole numbers."""
SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")


def whole_number_roles(data: Any, scalar: float) -> dict[str, Any]:
    """A tensor and a whole number on its right, which MXNet holds as a floating one."""
    return {"x": data, "y": int(scalar)}


def left_whole_number_roles(data: Any, scalar: float) -> dict[str, Any]:
    """A tensor and a whole number on its left, which MXNet holds as a floating one."""
    return {"x": int(scalar), "y": data}


def where_stored(made: Any, arguments: Values) -> Any:
    """The result where the tensor is not zero: of a sparse one the rest is not stored."""
    return made * (arguments["data"] != 0)


BINARY = merge(
    uses((*ARITHMETIC, *COMPARISONS, *LOGICAL, *SHARED), TWO, "broadcast_{}", RENAMED_BINARY),
    uses(ARITHMETIC, TWO, "elemwise_{}", RENAMED_BINARY),
    uses((*COMPARISONS, *LOGICAL, *SHARED), TWO, "_{}", RENAMED_BINARY),
    uses((*BOTH_NUMPY, *LOGICAL, "hypot"), TWO, "_npi_{}", RENAMED_BINARY),
    uses(WHOLE, TWO, "_npi_{}", WHOLE),
    uses(
        (*COMPARISONS, *LOGICAL, *SHARED, "div", "minus", "mul", "plus"),
        NUMBER,
        "_{}_scalar",
        RENAMED_BINARY,
    ),
    uses(("div", "minus", "mod", "power"), LEFT_NUMBER, "_r{}_scalar", RENAMED_BINARY),
    uses((*BOTH_NUMPY, *LOGICAL), NUMBER, "_npi_{}_scalar", RENAMED_BINARY),
    uses(LEFT_OF_NUMPY, LEFT_NUMBER, "_npi_r{}_scalar", RENAMED_BINARY),
    {f"_npi_{name}_scalar": use(WHOLE[name], whole_number_roles) for name in WHOLE},
    {f"_npi_r{name}_scalar": use(WHOLE[name], left_whole_number_roles) for name in SHIFTS},
    {
        "_contrib_allclose": use("allclose", "x=a y=b", relative=1e-5, absolute=1e-8),
        "_grad_add": use("add", TWO),
        "_npi_share_memory": use("shares_memory", "x=a y=b"),
        "_scatter_elemwise_div": use("divide", TWO),
        "_scatter_minus_scalar": use("subtract", NUMBER, where_stored),
        "_scatter_plus_scalar": use("add", NUMBER, where_stored),
        "add_n": use("sum_of_many", "tensors=args"),
    },
)

TABLE: Table = merge(UNARY, BINARY)
