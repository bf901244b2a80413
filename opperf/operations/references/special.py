"""Special functions, and Fourier transforms of whole tensors and of frames of signals, through
SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import fft, special

from opperf.operations.references.reference import Array, Functions
from opperf.operations.references.shapes import INDICES

Polynomial = Callable[[Array, Array], Array]
"""Computes a polynomial from its degrees, integers, and its arguments."""


def chebyshev_v(degree: Array, x: Array) -> Array:
    """The Chebyshev polynomials of the third kind."""
    return special.eval_chebyu(degree, x) - special.eval_chebyu(degree - 1, x)


def chebyshev_w(degree: Array, x: Array) -> Array:
    """The Chebyshev polynomials of the fourth kind."""
    return special.eval_chebyu(degree, x) + special.eval_chebyu(degree - 1, x)


STEP = 1e-4
"""Distance of central differences of the sixth order, with an error below a billionth."""

WEIGHTS = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
"""Weights of the differences between positions one, two and three steps above and below."""


def gammainc_derivative(a: Array, x: Array) -> Array:
    """The derivative of the regularised lower incomplete gamma function in its parameter."""
    return sum(
        weight * (special.gammainc(a + i * STEP, x) - special.gammainc(a - i * STEP, x)) / STEP
        for i, weight in WEIGHTS.items()
    )


def gamma_sample_derivative(a: Array, x: Array) -> Array:
    """The derivative of a gamma sample in the shape, at a fixed share below the sample."""
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
    if hasattr(special, "sph_harm_y"):
        return special.sph_harm_y(degree, order, theta, phi)
    return special.sph_harm(order, degree, phi, theta)


def extents(x: Array, axes: tuple[int, ...], length: int | None) -> tuple[int, ...] | None:
    """The extents along the axes of what half a spectrum is of, None without a length."""
    return None if length is None else (*(x.shape[axis] for axis in axes[:-1]), length)


def short_time_fourier_transform(x: Array, window: Array, hop: int, centred: bool = True) -> Array:
    """The spectra of overlapping frames of real signals, by frequency and frame. The first frame is
    centred at the first sample, the signal mirrored before it, or begins there."""
    length = len(window)
    if centred:
        border = length // 2
        indices = np.arange(-border, x.shape[-1] + border)
        x = x[..., INDICES["reflect"](indices, x.shape[-1])]
    starts = np.arange(0, x.shape[-1] - length + 1, hop)
    frames = x[..., starts[:, None] + np.arange(length)]
    return np.swapaxes(fft.rfft(frames * window), -1, -2)


def inverse_short_time_fourier_transform(x: Array, window: Array, hop: int) -> Array:
    """The signals of spectra of overlapping centred frames: their sum over the squared windows'."""
    length, count = len(window), x.shape[-1]
    frames = fft.irfft(np.swapaxes(x, -1, -2), length) * window
    made = np.zeros((*x.shape[:-2], length + hop * (count - 1)))
    weights = np.zeros(made.shape[-1])
    for i in range(count):
        here = slice(i * hop, i * hop + length)
        made[..., here] += frames[..., i, :]
        weights[here] += window**2
    inside = slice(length // 2, made.shape[-1] - length // 2)
    return made[..., inside] / weights[inside]


SAME_NAME = (
    "betainc betaln boxcox boxcox1p dawsn erfc erfcinv erfcx exp1 expi expn fresnel gammainc "
    "gammaincc gammasgn hyp1f1 hyp2f1 i0e i1 i1e log_ndtr logit ndtr ndtri owens_t poch sici "
    "spence wofz xlog1py xlogy zeta"
)
"""Functions that have SciPy's name."""

REFERENCES: Functions = {
    **{name: getattr(special, name) for name in SAME_NAME.split()},
    **{f"bessel_{name}": getattr(special, name) for name in ("j0", "j1", "k0", "k1", "y0", "y1")},
    **{name: by_role(polynomial) for name, polynomial in POLYNOMIALS.items()},
    "airy_ai": lambda x: special.airy(x)[0],
    "bessel_j_up_to": lambda x, order: np.stack([special.jv(i, x) for i in range(order + 1)]),
    "beta_function": special.beta,
    "comb": lambda x, y: special.comb(x, y),
    "entropy_term": lambda x: -special.xlogy(x, x),
    "factorial": lambda x: special.gamma(x + 1),
    "kl_divergence_term": special.kl_div,
    "multigammaln": lambda x, order: special.multigammaln(x, order),
    "polygamma": lambda x, order: special.polygamma(order, x),
    "relative_entropy_term": special.rel_entr,
    "scaled_bessel_k0": special.k0e,
    "scaled_bessel_k1": special.k1e,
    "spherical_bessel_j0": lambda x: special.spherical_jn(0, x),
    # The Bernoulli numbers from the zeroth on; SciPy computes two at least.
    "bernoulli_numbers": lambda last: special.bernoulli(max(last, 2))[: last + 1],
    "cosine_transform": lambda x, axes: fft.dctn(x, axes=axes),
    "fourier_transform": lambda x, axes: fft.fftn(x, axes=axes),
    "hermitian_fourier_transform": lambda x, axes, length=None: fft.hfftn(
        x, extents(x, axes, length), axes
    ),
    "inverse_cosine_transform": lambda x, axes: fft.idctn(x, axes=axes),
    "inverse_fourier_transform": lambda x, axes: fft.ifftn(x, axes=axes),
    "inverse_hermitian_fourier_transform": lambda x, axes: fft.ihfftn(x, axes=axes),
    "inverse_real_fourier_transform": lambda x, axes, length=None: fft.irfftn(
        x, extents(x, axes, length), axes
    ),
    "real_fourier_transform": lambda x, axes: fft.rfftn(x, axes=axes),
}
