"""Special functions, through SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from opperf.operations.references.reference import Array, references

Polynomial = Callable[[Array, Array], Array]
"""Computes a polynomial from its degrees, integers, and its arguments."""


def chebyshev_v(degree: Array, x: Array) -> Array:
    """The Chebyshev polynomials of the third kind."""
    return special.eval_chebyu(degree, x) - special.eval_chebyu(degree - 1, x)


def chebyshev_w(degree: Array, x: Array) -> Array:
    """The Chebyshev polynomials of the fourth kind."""
    return special.eval_chebyu(degree, x) + special.eval_chebyu(degree - 1, x)


STEP = 1e-4
"""Distance of central differences: of the sixth order, their error and that of rounding are below
a billionth."""

WEIGHTS = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
"""Weights of the differences between positions one, two and three steps above and below."""


def gammainc_derivative(a: Array, x: Array) -> Array:
    """The derivative of the regularised lower incomplete gamma function in its parameter."""
    return sum(
        weight * (special.gammainc(a + i * STEP, x) - special.gammainc(a - i * STEP, x)) / STEP
        for i, weight in WEIGHTS.items()
    )


def gamma_sample_derivative(a: Array, x: Array) -> Array:
    """The derivative of a gamma distribution's sample in the shape parameter, at a fixed share of
    the distribution below the sample."""
    log_density = special.xlogy(a - 1, x) - x - special.gammaln(a)
    return -gammainc_derivative(a, x) / np.exp(log_density)


POLYNOMIALS: dict[str, Polynomial] = {
    "chebyshev_t": special.eval_chebyt,
    "chebyshev_u": special.eval_chebyu,
    "chebyshev_v": chebyshev_v,
    "chebyshev_w": chebyshev_w,
    "hermite": special.eval_hermite,
    "hermite_probabilists": special.eval_hermitenorm,
    "laguerre": special.eval_laguerre,
    "legendre": special.eval_legendre,
    "shifted_chebyshev_t": lambda degree, x: special.eval_chebyt(degree, 2 * x - 1),
    "shifted_chebyshev_u": lambda degree, x: special.eval_chebyu(degree, 2 * x - 1),
    "shifted_chebyshev_v": lambda degree, x: chebyshev_v(degree, 2 * x - 1),
    "shifted_chebyshev_w": lambda degree, x: chebyshev_w(degree, 2 * x - 1),
}


def by_role(polynomial: Polynomial) -> Callable[..., Array]:
    """The polynomial with its inputs by role. Frameworks have degrees as floating numbers too."""
    return lambda x, degree: polynomial(_whole(degree), x)


def _whole(degree: Any) -> Any:
    return degree.astype(int) if hasattr(degree, "astype") else int(degree)


def spherical_harmonic(degree: Array, order: Array, theta: Array, phi: Array) -> Array:
    """Spherical harmonics at polar angles `theta` and azimuths `phi`."""
    # Before SciPy 1.15 by another name, with the azimuths before the polar angles.
    made: Array
    if hasattr(special, "sph_harm_y"):
        made = special.sph_harm_y(degree, order, theta, phi)
    else:
        made = special.sph_harm(order, degree, phi, theta)
    return made


def bernoulli_numbers(last: int) -> Array:
    """The Bernoulli numbers from the zeroth on."""
    # SciPy computes two at least.
    return special.bernoulli(max(last, 2))[: last + 1]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "airy_ai": lambda x: special.airy(x)[0],
    "bessel_j0": lambda x: special.j0(x),
    "bessel_j1": lambda x: special.j1(x),
    "bessel_j_up_to": lambda x, order: np.stack([special.jv(i, x) for i in range(order + 1)]),
    "bessel_k0": lambda x: special.k0(x),
    "bessel_k1": lambda x: special.k1(x),
    "bessel_y0": lambda x: special.y0(x),
    "bessel_y1": lambda x: special.y1(x),
    "beta_function": lambda x, y: special.beta(x, y),
    "betainc": lambda a, b, x: special.betainc(a, b, x),
    "betaln": lambda x, y: special.betaln(x, y),
    "entropy_term": lambda x: -special.xlogy(x, x),
    "erfc": lambda x: special.erfc(x),
    "erfcx": lambda x: special.erfcx(x),
    "exp1": lambda x: special.exp1(x),
    "expi": lambda x: special.expi(x),
    "expn": lambda order, x: special.expn(order, x),
    "factorial": lambda x: special.gamma(x + 1),
    "fresnel": lambda x: special.fresnel(x),
    "gammainc": lambda a, x: special.gammainc(a, x),
    "gammaincc": lambda a, x: special.gammaincc(a, x),
    "gammasgn": lambda x: special.gammasgn(x),
    "hyp1f1": lambda a, b, x: special.hyp1f1(a, b, x),
    "hyp2f1": lambda a, b, c, x: special.hyp2f1(a, b, c, x),
    "i0e": lambda x: special.i0e(x),
    "i1": lambda x: special.i1(x),
    "i1e": lambda x: special.i1e(x),
    "kl_divergence_term": lambda x, y: special.kl_div(x, y),
    "log_ndtr": lambda x: special.log_ndtr(x),
    "logit": lambda x: special.logit(x),
    "multigammaln": lambda x, order: special.multigammaln(x, order),
    "ndtr": lambda x: special.ndtr(x),
    "ndtri": lambda x: special.ndtri(x),
    "poch": lambda x, y: special.poch(x, y),
    "polygamma": lambda x, order: special.polygamma(order, x),
    "relative_entropy_term": lambda x, y: special.rel_entr(x, y),
    "scaled_bessel_k0": lambda x: special.k0e(x),
    "scaled_bessel_k1": lambda x: special.k1e(x),
    "spence": lambda x: special.spence(x),
    "spherical_bessel_j0": lambda x: special.spherical_jn(0, x),
    "xlog1py": lambda x, y: special.xlog1py(x, y),
    "xlogy": lambda x, y: special.xlogy(x, y),
    "zeta": lambda x, q: special.zeta(x, q),
    **{name: by_role(polynomial) for name, polynomial in POLYNOMIALS.items()},
}
"""SciPy's ufuncs take no keywords, which roles are."""

REFERENCES = references(FUNCTIONS)
