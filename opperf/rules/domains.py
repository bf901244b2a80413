"""Fills by canonical operation, where normal numbers are invalid or make all results equal."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec

from opperf.model import Argument, Fill
from opperf.rules.shapes import FEW, FEW_ITERATED, Shape, column, slim, square, tiniest, tiny
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    ABOVE_ONE,
    BOOLEAN,
    NORMAL,
    OPEN_UNIT,
    POSITIVE,
    PROBABILITY,
    below,
    between,
    odds,
)

WHOLE_DTYPE = "int32"
"""Dtype of functions that take integers only."""

BITS = below(64)
SOME_BITS = below(63, start=1)
"""For a single mask: with no bit set, or all, the results of bitwise functions are one number."""
SHIFTS = below(8)
"""Shifting `BITS` by these stays within 32 bits."""
MANTISSAS = between(0.5, 1.0)
POSITIVE_INTEGERS = below(64, start=1)
"""For common divisors and multiples, which are trivial for zero."""
DIVISORS = {"gcd": below(1 << 31, start=1), "lcm": below(1 << 15, start=1)}
"""The same of large integers, whose results fit 32 bits."""
ANGLES = between(0.0, 2048.0)
"""Positions of a text times a frequency of at most one, as rotary embeddings have them."""
FEW_INTEGERS = below(4)
"""Four values, so that a quarter of all pairs is equal."""
NEAR_ONE = between(0.999, 1.001)
"""A product of a million of these neither overflows nor vanishes."""

MISSING = 0.05
"""Share of NaN in the data of functions about it: few enough that no row has nothing else."""


def with_missing(fill: Fill) -> Fill:
    """The fill with some elements NaN."""
    return msgspec.structs.replace(fill, missing=MISSING)


OVERFLOWN = 0.2
"""Share of infinite numbers in the data of functions about them, like overflown gradients."""


REAL = 0.25
"""Share of the complex numbers without an imaginary part in the data of functions about it."""


WAVES = between(-10.0, 10.0)
"""A few oscillations of Bessel's functions, on both sides of zero."""
WAVES_OF_POSITIVE = between(0.5, 10.0)
"""As `WAVES`, away from the pole at zero."""

DOMAINS: dict[str, Fill] = {
    **dict.fromkeys(("isnan", "nan_to_num"), with_missing(NORMAL)),
    **dict.fromkeys(("isfinite", "isinf", "isneginf", "isposinf"), Fill(infinite=OVERFLOWN)),
    "isreal": Fill(real=REAL),
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "reciprocal"), POSITIVE),
    # Small numbers, for which it is made, and others.
    "log1p": between(-0.5, 2.0),
    # Between its poles at plus and minus pi / 2.
    "tan": OPEN_UNIT,
    **dict.fromkeys(("arccos", "arcsin", "arctanh"), OPEN_UNIT),
    "arccosh": ABOVE_ONE,
    "logical_not": BOOLEAN,
    **dict.fromkeys(("rsqrt", "rcbrt", "gamma"), POSITIVE),
    # On both sides of ten, below which digamma takes a step for each integer.
    **dict.fromkeys(("gammaln", "digamma"), between(0.5, 20.0)),
    "erfinv": OPEN_UNIT,
    # Twice a tail of the normal distribution.
    "erfcinv": between(0.1, 1.9),
    **dict.fromkeys(("bitwise_not", "leading_zeros", "ones_in_bits"), BITS),
    # Some elements on each side of every place where an approximation gives way to another.
    **dict.fromkeys(("bessel_j0", "bessel_j1", "i0", "i0e", "i1", "i1e"), WAVES),
    **dict.fromkeys(("airy_ai", "spherical_bessel_j0"), WAVES),
    **dict.fromkeys(("bessel_k0", "bessel_k1", "bessel_y0", "bessel_y1"), WAVES_OF_POSITIVE),
    **dict.fromkeys(("scaled_bessel_k0", "scaled_bessel_k1", "sici"), WAVES_OF_POSITIVE),
    **dict.fromkeys(("entropy_term", "logit", "ndtri"), PROBABILITY),
    # On both sides of one, where series give way to continued fractions and expansions.
    **dict.fromkeys(("exp1", "expi"), between(0.1, 5.0)),
    "factorial": between(0.0, 10.0),
    "fresnel": between(-5.0, 5.0),
    # Between one and two JAX's derivative is NaN.
    "spence": PROBABILITY,
}
"""Fill of the tensor of unary operations; others are defined everywhere."""


class Pair(NamedTuple):
    """Fills of an operation's two tensors."""

    left: Fill = NORMAL
    right: Fill = NORMAL


LOGICAL_PAIR = Pair(BOOLEAN, BOOLEAN)
BITWISE_PAIR = Pair(BITS, BITS)
SHIFT_PAIR = Pair(BITS, SHIFTS)
RATIO_PAIR = Pair(NORMAL, POSITIVE)
GAMMA_PAIR = Pair(between(0.5, 5.0), between(0.1, 10.0))
"""Both where a series and where a continued fraction converges."""

DERIVATIVES = ("gammainc_derivative", "gamma_sample_derivative")
"""Derivatives of functions, which frameworks have no further gradient of."""

EXPONENTS = between(0.0, 3.0)
"""Not negative, as integers have no negative powers."""

DEGREES = below(8)
"""Degrees of polynomials, also above six, where Chebyshev's may be computed through cosines."""
CHEBYSHEV = ("chebyshev_t", "chebyshev_u", "chebyshev_v", "chebyshev_w")
POLYNOMIALS = (*CHEBYSHEV, "hermite", "hermite_probabilists", "laguerre", "legendre")
"""Orthogonal polynomials; those of `CHEBYSHEV` also shifted to the unit interval."""

PAIRS: dict[str, Pair] = {
    **dict.fromkeys(("divide", "floor_divide", "fmod", "remainder"), RATIO_PAIR),
    # A length, and an angle in radians.
    "polar": Pair(POSITIVE, between(-math.pi, math.pi)),
    # A negative base has no real power by a fraction.
    "power": Pair(POSITIVE, EXPONENTS),
    **dict.fromkeys(("left_shift", "right_shift"), SHIFT_PAIR),
    **dict.fromkeys(("equal", "isclose", "not_equal"), Pair(FEW_INTEGERS, FEW_INTEGERS)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), LOGICAL_PAIR),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), BITWISE_PAIR),
    **dict.fromkeys(("gcd", "lcm"), Pair(POSITIVE_INTEGERS, POSITIVE_INTEGERS)),
    "ldexp": Pair(MANTISSAS, SHIFTS),
    # Labels, by a probability or its negative.
    "xlog1py": Pair(BOOLEAN, between(-0.95, 0.0)),
    "xlogy": Pair(BOOLEAN, PROBABILITY),
    **dict.fromkeys(("gammainc", "gammaincc", *DERIVATIVES), GAMMA_PAIR),
    "zeta": Pair(ABOVE_ONE, POSITIVE),
    # From the reciprocal over the logarithm to the square.
    **dict.fromkeys(("boxcox", "boxcox1p"), Pair(POSITIVE, between(-1.0, 2.0))),
    "comb": Pair(between(5.0, 10.0), between(1.0, 4.0)),
    **dict.fromkeys(("beta_function", "betaln", "poch"), Pair(POSITIVE, POSITIVE)),
    "kl_divergence_term": Pair(PROBABILITY, PROBABILITY),
    "relative_entropy_term": Pair(PROBABILITY, PROBABILITY),
    **dict.fromkeys(POLYNOMIALS, Pair(OPEN_UNIT, DEGREES)),
    **dict.fromkeys((f"shifted_{name}" for name in CHEBYSHEV), Pair(PROBABILITY, DEGREES)),
}

IGNORES_NAN = {
    *("lower_nanmedian", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean"),
    *("nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum"),
    "nanvar",
}
"""Reductions that leave out NaN, under the names of NumPy, which all frameworks have."""

REDUCTIONS: dict[str, Fill] = {
    **dict.fromkeys(("prod", "nanprod", "cumprod", "nancumprod"), NEAR_ONE),
    "count_nonzero": BOOLEAN,
    **dict.fromkeys(("exclusive_or", "mode"), BITS),
}

DECIDED_BY_ONE = {"all": lambda count: odds(1, count), "any": lambda count: odds(count, 1)}
"""Fill by the number of reduced elements: about a third of the results differs from the rest."""


def reduction_fill(name: str, shape: Shape, axes: tuple[int, ...]) -> Fill:
    """The fill of a tensor that an operation reduces along these axes; an empty tuple means all."""
    if name in IGNORES_NAN:
        return with_missing(REDUCTIONS.get(name, NORMAL))
    if name not in DECIDED_BY_ONE:
        return REDUCTIONS.get(name, NORMAL)
    return DECIDED_BY_ONE[name](math.prod(shape[axis] for axis in axes or range(len(shape))))


SLOW = {
    *("bessel_j_up_to", "betainc", "expi", "gammainc", "gammaincc", "hyp1f1", "polygamma"),
    *("zeta", *DERIVATIVES),
}
"""Functions that take half a microsecond for an element, or their derivatives do: no matrices."""

SLOWEST = frozenset({"exp1", "expn", "hyp2f1"})
"""Functions that take 5 to 60 microseconds for an element where a framework compiles a series."""

BOUND_BY_ARITHMETIC = frozenset(
    {
        *("airy_ai", "bessel_j0", "bessel_j1", "bessel_k0", "bessel_k1", "bessel_y0", "bessel_y1"),
        *("angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "cosh"),
        *("digamma", "erfcinv", "erfcx", "erfinv", "factorial", "fresnel", "gamma", "gammaln"),
        *("i0", "i0e", "i1", "i1e", "log_ndtr", "ndtri", "rcbrt", "scaled_bessel_k0"),
        *("scaled_bessel_k1", "sici", "sinc", "sinh", "spence", "spherical_bessel_j0", "tan"),
        *POLYNOMIALS,
        *(f"shifted_{name}" for name in CHEBYSHEV),
        # Of two tensors.
        *("arctan2", "beta_function", "betaln", "boxcox", "boxcox1p", "comb", "floor_divide"),
        *("fmod", "heaviside", "hypot", "kl_divergence_term", "logaddexp", "logaddexp2"),
        *("owens_t", "poch", "polar", "power", "relative_entropy_term", "remainder", "xlog1py"),
        "xlogy",
    }
)
"""Functions that take longer than any order of elements in memory, in cache or not."""

ITERATED = SLOWEST | {"betainc", "expi", "gammainc", "gammaincc", "hyp1f1", *DERIVATIVES}
"""Functions that a framework computes by a loop until the slowest element converges."""

COSTLY = SLOW | SLOWEST | {"airy_ai", "bessel_y0"}
"""Functions of which `tiny` takes more than twice as long as one element, and so as the call."""


def fewest(name: str, size: Preset) -> Shape:
    """The shape that shows the overhead of a function's call."""
    return tiniest(size) if name in COSTLY else tiny(size)


def notes_of_fewest(name: str) -> dict[str, Argument]:
    """Why these few elements are measured."""
    return FEW_ITERATED if name in ITERATED else FEW


def largest(name: str, size: Preset) -> Shape:
    """The shape of the largest tensors that a function is measured with."""
    if name in SLOWEST:
        return column(size)
    return slim(size) if name in SLOW else square(size)
