"""Operators of one tensor, element by element."""

from __future__ import annotations

import numpy as np
from scipy import special

from references import Reference, named, positional


def away_from_zero(x: np.ndarray) -> np.ndarray:
    """Halves are rounded away from zero, where NumPy rounds them to even."""
    return np.trunc(x + np.copysign(0.5, x))


FUNCTIONS: dict[str, Reference] = {
    name: positional(function)
    for name, function in {
        "abs": np.abs,
        "absolute": np.abs,
        "arccos": np.arccos,
        "arccosh": np.arccosh,
        "arcsin": np.arcsin,
        "arcsinh": np.arcsinh,
        "arctan": np.arctan,
        "arctanh": np.arctanh,
        "around": np.rint,
        "bitwise_not": np.bitwise_not,
        "cbrt": np.cbrt,
        "ceil": np.ceil,
        "copy": np.copy,
        "cos": np.cos,
        "cosh": np.cosh,
        "degrees": np.degrees,
        "digamma": special.digamma,
        "erf": special.erf,
        "erfinv": special.erfinv,
        "exp": np.exp,
        "expm1": np.expm1,
        "fix": np.fix,
        "floor": np.floor,
        "gamma": special.gamma,
        "gammaln": special.gammaln,
        "identity": np.copy,
        "isfinite": np.isfinite,
        "isinf": np.isinf,
        "isnan": np.isnan,
        "isneginf": np.isneginf,
        "isposinf": np.isposinf,
        "log": np.log,
        "log10": np.log10,
        "log1p": np.log1p,
        "log2": np.log2,
        "log_sigmoid": special.log_expit,
        "logical_not": np.logical_not,
        "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
        "nan_to_num": np.nan_to_num,
        "negative": np.negative,
        "ones_like": np.ones_like,
        "radians": np.radians,
        "rcbrt": lambda x: 1 / np.cbrt(x),
        "reciprocal": np.reciprocal,
        "relu": lambda x: np.maximum(x, 0),
        "rint": np.rint,
        "round": away_from_zero,
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "sigmoid": special.expit,
        "sign": np.sign,
        "sin": np.sin,
        "sinh": np.sinh,
        "softsign": lambda x: x / (1 + np.abs(x)),
        "sqrt": np.sqrt,
        "square": np.square,
        "tan": np.tan,
        "tanh": np.tanh,
        "trunc": np.trunc,
        "zeros_like": np.zeros_like,
    }.items()
}

OF_ND = (
    *("abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil"),
    *("cos", "cosh", "degrees", "digamma", "erf", "erfinv", "exp", "expm1", "fix", "floor"),
    *("gamma", "gammaln", "identity", "log", "log10", "log1p", "log2", "log_sigmoid"),
    *("logical_not", "mish", "negative", "ones_like", "radians", "rcbrt", "reciprocal", "relu"),
    *("rint", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "softsign", "sqrt", "square"),
    *("tan", "tanh", "trunc", "zeros_like"),
)
OF_NUMPY = (
    *("absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "around"),
    *("bitwise_not", "cbrt", "ceil", "copy", "cos", "cosh", "degrees", "exp", "expm1", "fix"),
    *("floor", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "log", "log10", "log1p"),
    *("log2", "logical_not", "nan_to_num", "negative", "radians", "reciprocal", "rint", "sign"),
    *("sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
)

REFERENCES: dict[str, Reference] = {
    **named(OF_ND, FUNCTIONS),
    **named(OF_NUMPY, FUNCTIONS, "_npi_"),
    **named(("copy",), FUNCTIONS, "_np_"),
    **named(("relu", "sigmoid"), FUNCTIONS, "_npx_"),
    "BlockGrad": positional(np.copy),
    "MakeLoss": positional(np.copy),
    "make_loss": positional(np.copy),
    "_contrib_round_ste": positional(away_from_zero),
    "_contrib_sign_ste": positional(np.sign),
    "_contrib_gradientmultiplier": lambda data, scalar: data,
    "_contrib_quadratic": lambda data, a, b, c: a * data**2 + b * data + c,
    "_contrib_div_sqrt_dim": lambda data: data / np.sqrt(data.shape[-1]),
    "_copyto": lambda data, out: data,
    "_npi_polyval": positional(np.polyval),
    "clip": positional(np.clip),
    "hard_sigmoid": lambda data, alpha, beta: np.clip(alpha * data + beta, 0, 1),
}
