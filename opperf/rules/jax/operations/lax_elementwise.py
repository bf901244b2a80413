"""The elementwise functions of `jax.lax`."""

from __future__ import annotations

from typing import Any

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Array, Choice, Roles, Table, merge, use, uses
from opperf.rules.values import fixed, literal

LAX = "lax.{}"
"""Pattern of the names in the registry."""

SAME_NAME = (
    *("bitwise_not", "cbrt", "ceil", "cos", "cosh", "digamma", "erf", "erfc", "exp", "exp2"),
    *("expm1", "floor", "log", "log1p", "log2", "reciprocal", "rsqrt", "sign", "sin", "sinh"),
    *("sqrt", "square", "tan", "tanh"),
)
RENAMED = {
    "abs": "absolute",
    **{f"a{name}": f"arc{name}" for kind in ("cos", "sin", "tan") for name in (kind, f"{kind}h")},
    "bessel_i0e": "i0e",
    "bessel_i1e": "i1e",
    "clz": "leading_zeros",
    "erf_inv": "erfinv",
    "is_finite": "isfinite",
    "lgamma": "gammaln",
    "logistic": "sigmoid",
    "neg": "negative",
    "optimization_barrier": "identity",
    "population_count": "ones_in_bits",
    "stage": "identity",
    "stop_gradient": "identity",
}
"""Operations of functions that have another name in `jax.lax`."""

OF_COMPLEX = {"conj": "conjugate", "imag": "imag", "real": "real"}


def scalar(value: Argument) -> Argument:
    """A number as a tensor of the dtype of the others, which `jax.lax` requires it to have."""
    return fixed(fill=literal(value))


def clamp_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor and its bounds."""
    return {"min": scalar(roles["low"]), "x": roles["x"], "max": scalar(roles["high"])}


def polygamma_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """The order, and a tensor."""
    return {"m": scalar(roles["order"]), "x": roles["x"]}


def sample_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Shape parameters and samples, which the function's signature does not name."""
    a, x = roles["a"], roles["x"]
    assert isinstance(a, TensorSpec) and isinstance(x, TensorSpec)
    return {"args": (a, x)}


def without_family(operator: Operator, roles: Roles) -> None:
    """Nothing: a family of the function's own has its inputs."""


def power_roles(x: Array, y: int) -> dict[str, Any]:
    """Bases, and the exponent as an array."""
    return {"x": x, "y": float(y)}


TO_EVEN = 1
"""The value of `RoundingMethod.TO_NEAREST_EVEN`."""

UNARY: Table = merge(
    uses(SAME_NAME, "x -accuracy", LAX),
    {f"lax.{name}": use(operation, "x=x|operand -accuracy") for name, operation in RENAMED.items()},
    {f"lax.{name}": use(operation, "z=x") for name, operation in OF_COMPLEX.items()},
    {
        "lax.clamp": use("clip", "x low=min high=max", to_arguments=clamp_arguments),
        "lax.integer_pow": use("power", power_roles, to_arguments=without_family),
        "lax.one_minus_square": use("square", "x", lambda made, arguments: 1 - made),
        "lax.polygamma": use("polygamma", "x order=m", to_arguments=polygamma_arguments),
        "lax.round": Choice(
            "rounding_method",
            {
                None: use("round_half_away", "x"),
                TO_EVEN: use("rint", "x -rounding_method", to_arguments=without_family),
            },
        ),
        "lax.reduce_precision": use("round_to_bits", "x=operand exponent_bits mantissa_bits"),
    },
)

TWO_SAME_NAME = ("add", "bitwise_and", "bitwise_or", "bitwise_xor", "complex")
TWO_RENAMED = {
    "atan2": "arctan2",
    "div": "divide",
    "eq": "equal",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "max": "maximum",
    "min": "minimum",
    "mul": "multiply",
    "ne": "not_equal",
    "pow": "power",
    "rem": "fmod",
    "shift_left": "left_shift",
    "shift_right_arithmetic": "right_shift",
    # The same as an arithmetic one of numbers that are not negative.
    "shift_right_logical": "right_shift",
    "sub": "subtract",
}
"""Operations of functions that have another name in `jax.lax`."""

GAMMA = "a x"

BINARY: Table = merge(
    uses(TWO_SAME_NAME, "x y", LAX),
    {f"lax.{name}": use(operation, "x y") for name, operation in TWO_RENAMED.items()},
    {
        "lax.betainc": use("betainc", "a b x"),
        "lax.igamma": use("gammainc", GAMMA),
        "lax.igamma_grad_a": use("gammainc_derivative", GAMMA),
        "lax.igammac": use("gammaincc", GAMMA),
        "lax.random_gamma_grad": use(
            "gamma_sample_derivative",
            lambda args: dict(zip(("a", "x"), args, strict=True)),
            to_arguments=sample_arguments,
        ),
        "lax.zeta": use("zeta", "x q"),
    },
)

TABLE: Table = merge(UNARY, BINARY)
