"""PyTorch's elementwise operators."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from opperf.operations.uses import Array, Choice, Table, Use, merge, use, uses

X = "x=self|x"
"""The one tensor."""


def named(text: str) -> dict[str, str]:
    """A table of names, each with the operation's where that differs: `sin ceil fix=trunc`."""
    return {
        name: other or name for name, _, other in (each.partition("=") for each in text.split())
    }


UNARY_NAMES = {
    **named(
        "ceil cos cosh digamma erf erfc erfinv exp exp2 expm1 floor i0 isfinite isinf isnan "
        "isneginf isposinf log log10 log1p log2 logical_not nan_to_num reciprocal rsqrt sigmoid "
        "sign signbit sin sinc sinh sqrt square tan tanh trunc bitwise_not abs=absolute absolute "
        "fix=trunc frac=fractional_part frexp lgamma=gammaln deg2rad=radians rad2deg=degrees "
        "neg=negative negative positive=identity round.default=rint"
    ),
    **{
        f"{short}{name}": f"arc{name}"
        for short in ("a", "arc")
        for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")
    },
}

SPECIAL = named(
    "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma erf erfc erfcx erfinv exp2 expm1 i0 "
    "i0e i1 i1e log1p log_ndtr ndtr ndtri sinc spherical_bessel_j0 entr=entropy_term expit=sigmoid "
    "gammaln modified_bessel_i0=i0 modified_bessel_i1=i1 modified_bessel_k0=bessel_k0 psi=digamma "
    "modified_bessel_k1=bessel_k1 scaled_modified_bessel_k0=scaled_bessel_k0 "
    "scaled_modified_bessel_k1=scaled_bessel_k1"
)
"""Operations of operators by their names without `special_`."""

OF_COMPLEX = named("angle conj=conjugate conj_physical=conjugate imag isreal real sgn=complex_sign")


CLIP = use(
    "clip",
    lambda self, min=-math.inf, max=math.inf: {"x": self, "low": min, "high": max},
    to_arguments="x=self low=min high=max",
)


LOGIT = use("logit", lambda self, eps=0.0: {"x": self.clip(eps, 1 - eps)}, to_arguments="x=self")

UNARY: Table = merge(
    uses(UNARY_NAMES, X, other=UNARY_NAMES),
    uses(SPECIAL, X, "special_{}", SPECIAL),
    uses(OF_COMPLEX, "z=self", other=OF_COMPLEX),
    dict.fromkeys(("clamp", "clip"), CLIP),
    dict.fromkeys(("logit", "special_logit"), LOGIT),
    dict.fromkeys(("mvlgamma", "special_multigammaln"), use("multigammaln", "x=self order=p")),
    dict.fromkeys(("polygamma", "special_polygamma"), use("polygamma", "x=self order=n")),
    dict.fromkeys(("round.decimals", "special_round"), use("round_to", "x=self decimals")),
)

POLYNOMIALS = {
    **{
        f"special_{shifted}chebyshev_polynomial_{kind}": f"{shifted}chebyshev_{kind}"
        for shifted in ("", "shifted_")
        for kind in "tuvw"
    },
    "special_hermite_polynomial_h": "hermite",
    "special_hermite_polynomial_he": "hermite_probabilists",
    "special_laguerre_polynomial_l": "laguerre",
    "special_legendre_polynomial_p": "legendre",
}

TWO = "x=self y=other|exponent|values"

BINARY_NAMES = named(
    "bitwise_and bitwise_or bitwise_xor copysign floor_divide fmax fmin fmod gcd greater "
    "greater_equal heaviside hypot lcm less less_equal logaddexp logaddexp2 logical_and logical_or "
    "logical_xor maximum minimum multiply not_equal remainder xlogy "
    "arctan2 atan2=arctan2 bitwise_left_shift=left_shift bitwise_right_shift=right_shift "
    "div.Scalar=divide div.Tensor=divide divide.Scalar=divide divide.Tensor=divide "
    "true_divide=divide eq=equal ge=greater_equal gt=greater le=less_equal lt=less ne=not_equal "
    "float_power=power pow=power ldexp.Tensor=ldexp mul=multiply special_xlog1py=xlog1py "
    "special_xlogy=xlogy"
)


def _scaled(operation: str) -> Use:
    """The use of a sum or difference, whose second term may have a factor."""

    def roles(self: Array, other: Array | float, alpha: float = 1.0) -> dict[str, Any]:
        return {"x": self, "y": alpha * other}

    return use(operation, roles, to_arguments="x=self y=other")


ROUNDED = Choice(
    "rounding_mode",
    {
        "floor": use("floor_divide", "x=self y=other -rounding_mode"),
        "trunc": use(
            "divide",
            "x=self y=other -rounding_mode",
            to_output=lambda made, arguments: made.astype(int),
        ),
    },
)
"""Division, rounded down or to zero."""


def sum_of(**terms: Any) -> Use:
    """The use of a sum of two terms, each a function of the operator's arguments. A family of the
    operator's own has its inputs."""

    def roles(**arguments: Any) -> Mapping[str, Any]:
        return {name: term(**arguments) for name, term in terms.items()}

    return use("add", roles)  # type: ignore[arg-type]


FIRST = {"x": lambda self, **others: self}

OF_THREE: Table = {
    "addcdiv": sum_of(
        **FIRST, y=lambda tensor1, tensor2, value=1, **others: value * tensor1 / tensor2
    ),
    "addcmul": sum_of(
        **FIRST, y=lambda tensor1, tensor2, value=1, **others: value * tensor1 * tensor2
    ),
    "lerp": sum_of(**FIRST, y=lambda self, end, weight: weight * (end - self)),
}

BINARY: Table = merge(
    uses(BINARY_NAMES, TWO, other=BINARY_NAMES),
    uses(POLYNOMIALS, "x degree=n", other=POLYNOMIALS),
    {"add": _scaled("add"), "sub": _scaled("subtract"), "subtract": _scaled("subtract")},
    dict.fromkeys(("div.Tensor_mode", "div.Scalar_mode"), ROUNDED),
    dict.fromkeys(("divide.Tensor_mode", "divide.Scalar_mode"), ROUNDED),
    dict.fromkeys(("igamma", "special_gammainc"), use("gammainc", "a=self x=other")),
    dict.fromkeys(("igammac", "special_gammaincc"), use("gammaincc", "a=self x=other")),
    {
        "clamp_max": use("minimum", "x=self y=max"),
        "clamp_min": use("maximum", "x=self y=min"),
        "isclose": use("isclose", "x=self y=other", relative=1e-5, absolute=1e-8),
        "rsub": use(
            "subtract",
            lambda self, other, alpha=1.0: {"x": other, "y": alpha * self},
            to_arguments="x=other y=self",
        ),
        "special_zeta": use("zeta", "x=self q=other"),
    },
)

OPERATIONS: Table = merge(UNARY, BINARY, OF_THREE)
