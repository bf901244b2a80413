"""Operations of one tensor, element by element. Most are written by their definitions or through
SciPy, so that NumPy's own functions can be compared with them as well."""

from __future__ import annotations

import numpy as np
from scipy import special

from opperf.operations.references.reference import Array, Functions


def round_to_bits(x: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    """The nearest numbers of a format with so many bits, zero below its normal numbers."""
    mantissas, exponents = np.frexp(x)
    rounded = np.ldexp(np.rint(np.ldexp(mantissas, mantissa_bits + 1)), -mantissa_bits - 1)
    least = 2.0 ** (2 - 2 ** (exponent_bits - 1))
    return np.where(np.abs(x) < least, 0, np.ldexp(rounded, exponents))


def bits_of(x: Array) -> Array:
    """The bits of integers, the most significant first, along a new last axis."""
    positions = np.arange(8 * x.dtype.itemsize)[::-1]
    return x[..., None] >> positions.astype(x.dtype) & 1


def arctan2(x: Array, y: Array) -> Array:
    """The angle of the point (y, x): the imaginary part of its logarithm."""
    return np.log(y + 1j * x).imag


def clip(x: Array, low: float, high: float) -> Array:
    """The nearest number from `low` to `high`."""
    return np.where(x < low, low, np.where(x > high, high, x))


def polynomial(coefficients: Array, x: Array) -> Array:
    """The value of a polynomial, by Horner's rule; the highest power comes first."""
    made = np.zeros_like(x)
    for coefficient in coefficients:
        made = made * x + coefficient
    return made


def nan_to_num(x: Array) -> Array:
    """The elements with 0 in place of NaN, and the largest numbers in place of infinities."""
    largest = float(np.finfo(np.float64).max)
    return np.where(x != x, 0.0, clip(x, -largest, largest))


def floor(x: Array) -> Array:
    """The largest integer that is not above each element."""
    whole = np.modf(x)[1]
    return whole - (whole > x)


def absolute(x: Array) -> Array:
    """The distance of each element from zero."""
    if np.iscomplexobj(x):
        return np.power(x.real**2 + x.imag**2, 0.5)
    return np.where(x < 0, -x, x)


def logarithm(x: Array, base: float) -> Array:
    """The logarithm to a base."""
    return special.xlogy(1.0, x) / np.log(base)


LARGEST = 2**7 - 1
"""The largest signed 8-bit integer."""


def fake_quantize(
    x: Array,
    scale: Array | float,
    zero_point: Array | int,
    low: int,
    high: int,
    axis: int | None = None,
) -> Array:
    """The numbers that integers in [low, high] stand for, by a scale and a zero point, which
    each index of an axis may have; halves are rounded to even numbers."""
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    scales, zeros = np.asarray(scale).reshape(shape), np.asarray(zero_point).reshape(shape)
    made = np.clip(np.rint(x / scales) + zeros, low, high)
    return np.asarray((made - zeros) * scales)


REFERENCES: Functions = {
    # Every bit inverted: of a boolean its opposite.
    "bitwise_not": lambda x: x == 0 if x.dtype == bool else -x - 1,
    # The part of each element after the point, with its sign.
    "fractional_part": lambda x: x - np.modf(x)[1],
    # The number of bits of each integer before the first that is one.
    "leading_zeros": lambda x: (np.cumsum(bits_of(x), axis=-1) == 0).sum(-1),
    # The number of bits of each integer that are one.
    "ones_in_bits": lambda x: bits_of(x).sum(-1),
    # The 8-bit numbers for values from -`end` to `end`; halves are rounded away from zero.
    "quantize_symmetric": lambda x, end: (
        np.sign(x) * np.floor(np.minimum(np.abs(x) * (LARGEST / end) + 0.5, LARGEST))
    ),
    # The nearest integers, with halves rounded away from zero; NumPy rounds them to even.
    "round_half_away": lambda x: np.trunc(x + np.copysign(0.5, x)),
    "affine_clip": lambda x, slope, offset: clip(slope * x + offset, 0, 1),
    "angle": lambda z: np.log(z).imag,
    "arccos": lambda x: arctan2(np.power(1 - x * x, 0.5), x),
    "arccosh": lambda x: special.xlogy(1.0, x + np.power(x * x - 1, 0.5)),
    "arcsin": lambda x: arctan2(x, np.power(1 - x * x, 0.5)),
    "arcsinh": lambda x: (
        np.copysign(1.0, x) * special.log1p(abs(x) + x * x / (1 + np.power(x * x + 1, 0.5)))
    ),
    "arctan": lambda x: arctan2(x, np.ones_like(x)),
    "arctanh": lambda x: (special.log1p(x) - special.log1p(-x)) / 2,
    "cbrt": special.cbrt,
    "ceil": lambda x: -floor(-x),
    "complex_sign": lambda z: z / np.where(z == 0, 1, np.abs(z)),
    "conjugate": lambda z: z.real - 1j * z.imag,
    "cos": lambda x: np.exp(1j * x).real,
    "cosh": lambda x: (np.exp(x) + np.exp(-x)) / 2,
    "dequantize": lambda data, scale: data * scale,
    "degrees": lambda x: x * (180 / np.pi),
    "digamma": special.digamma,
    "divided_by_root_of_width": lambda x: x / np.sqrt(x.shape[-1]),
    "erf": special.erf,
    "erfinv": special.erfinv,
    "exp": lambda x: np.power(np.e, x),
    "exp2": special.exp2,
    "expm1": special.expm1,
    # Mantissas from 0.5 up to 1, and exponents.
    "frexp": lambda x: np.frexp(x),
    "gamma": special.gamma,
    "gammaln": special.gammaln,
    "i0": special.i0,
    "identity": lambda x: x,
    "imag": lambda z: z.imag,
    "isfinite": lambda x: x - x == 0,
    "isinf": lambda x: abs(x) == np.inf,
    "isnan": lambda x: x != x,
    "isneginf": lambda x: x == -np.inf,
    "isposinf": lambda x: x == np.inf,
    "isreal": lambda z: z == z.real,
    "log": lambda x: special.xlogy(1.0, x),
    "log10": lambda x: logarithm(x, 10),
    "log1p": special.log1p,
    "log2": lambda x: logarithm(x, 2),
    "log_sigmoid": special.log_expit,
    "logical_not": lambda x: x == 0,
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "negative": lambda x: 0 - x,
    "ones_like": lambda x: np.full(x.shape, 1),
    "radians": lambda x: x * (np.pi / 180),
    "rcbrt": lambda x: 1 / special.cbrt(x),
    "real": lambda z: z.real,
    "reciprocal": lambda x: 1 / x,
    "relu": lambda x: np.where(x > 0, x, 0),
    "rint": lambda x: np.rint(x),
    "round_to": lambda x, decimals=0: np.rint(x * 10.0**decimals) / 10.0**decimals,
    "rsqrt": lambda x: np.power(x, -0.5),
    "sigmoid": special.expit,
    "sign": lambda x: (x > 0) * 1.0 - (x < 0),
    "signbit": lambda x: np.copysign(1.0, x) < 0,
    "sin": lambda x: np.exp(1j * x).imag,
    "sinc": lambda x: special.spherical_jn(0, np.pi * x),
    "sinh": lambda x: (special.expm1(x) - special.expm1(-x)) / 2,
    "softplus": lambda x: np.logaddexp(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "sqrt": lambda x: np.power(x, 0.5),
    "square": lambda x: x * x,
    "tan": lambda x: np.exp(1j * x).imag / np.exp(1j * x).real,
    "tanh": lambda x: 2 * special.expit(2 * x) - 1,
    "trunc": lambda x: np.modf(x)[1],
    "zeros_like": lambda x: np.full(x.shape, 0),
}
