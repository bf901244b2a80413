"""Functions that draw random numbers: those of `np.random`, and the methods of `Generator`."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Operator
from opperf.rules.engine import Families
from opperf.rules.numpy.names import Variants
from opperf.rules.shapes import line, square
from opperf.rules.sizes import Preset
from opperf.rules.values import POSITIVE, POSITIVE_DEFINITE, SIMPLEX, Arguments, below, fixed

FAMILIES = Families()

HOLDERS = ("random.", "random.Generator.")
"""Prefixes of functions that draw: the legacy ones of `np.random`, and the methods of `Generator`,
whose algorithms differ."""

DISTRIBUTIONS: dict[str, dict[str, Argument]] = {
    "beta": {"a": 2.0, "b": 3.0},
    "binomial": {"n": 20, "p": 0.3},
    "chisquare": {"df": 4.0},
    "exponential": {"scale": 1.0},
    "f": {"dfnum": 4.0, "dfden": 10.0},
    "gamma": {"shape": 2.0, "scale": 1.0},
    "geometric": {"p": 0.3},
    "gumbel": {"loc": 0.0, "scale": 1.0},
    "hypergeometric": {"ngood": 30, "nbad": 20, "nsample": 10},
    "integers": {"low": 0, "high": 1000},
    "laplace": {"loc": 0.0, "scale": 1.0},
    "logistic": {"loc": 0.0, "scale": 1.0},
    "lognormal": {"mean": 0.0, "sigma": 1.0},
    "logseries": {"p": 0.6},
    "negative_binomial": {"n": 5, "p": 0.4},
    "noncentral_chisquare": {"df": 4.0, "nonc": 2.0},
    "noncentral_f": {"dfnum": 4.0, "dfden": 10.0, "nonc": 2.0},
    "normal": {"loc": 0.0, "scale": 1.0},
    "pareto": {"a": 3.0},
    "poisson": {"lam": 4.0},
    "power": {"a": 3.0},
    "randint": {"low": 0, "high": 1000},
    "random": {},
    "random_integers": {"low": 1, "high": 1000},
    "random_sample": {},
    "rayleigh": {"scale": 1.0},
    "standard_cauchy": {},
    "standard_exponential": {},
    "standard_gamma": {"shape": 2.0},
    "standard_normal": {},
    "standard_t": {"df": 5.0},
    "triangular": {"left": -1.0, "mode": 0.0, "right": 1.0},
    "uniform": {"low": 0.0, "high": 1.0},
    "vonmises": {"mu": 0.0, "kappa": 2.0},
    "wald": {"mean": 1.0, "scale": 1.0},
    "weibull": {"a": 1.5},
    "zipf": {"a": 3.0},
}
"""Parameters of distributions, for which the whole algorithm runs and the moments are finite."""

COLOURS = 8
"""Number of classes, and of variables."""
DOUBLE = "float64"
"""Dtype of parameters that are arrays: probabilities of less precision may add up to more than
1."""


def own_name(operator: Operator) -> str:
    """A function's name without its prefix."""
    return operator.name.rpartition(".")[2]


@FAMILIES.add(*(holder + name for holder in HOLDERS for name in DISTRIBUTIONS))
def draw(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution, and the shape of a matrix of draws."""
    yield {**DISTRIBUTIONS[own_name(operator)], "size": square(size)}


SEVERAL: dict[str, Variants] = {
    "rand": lambda size: [{"size": square(size)}],
    "randn": lambda size: [{"size": square(size)}],
    "choice": lambda size: [
        {"a": fixed(*line(size)), "size": line(size), "replace": replace}
        for replace in (True, False)
    ],
    "dirichlet": lambda size: [
        {"alpha": fixed(COLOURS, fill=POSITIVE, dtype=DOUBLE), "size": line(size)}
    ],
    "multinomial": lambda size: [
        {"n": 20, "pvals": fixed(COLOURS, fill=SIMPLEX, dtype=DOUBLE), "size": line(size)}
    ],
    "multivariate_hypergeometric": lambda size: [
        {
            "colors": fixed(COLOURS, fill=below(40, start=10), dtype="int64"),
            "nsample": 20,
            "size": line(size),
        }
    ],
    "multivariate_normal": lambda size: [
        {
            "mean": fixed(COLOURS, dtype=DOUBLE),
            "cov": fixed(COLOURS, COLOURS, fill=POSITIVE_DEFINITE, dtype=DOUBLE),
            "size": line(size),
        }
    ],
    **dict.fromkeys(
        ("permutation", "permuted", "shuffle"),
        lambda size: [{"x": fixed(*line(size))}, {"x": fixed(*square(size))}],
    ),
}


@FAMILIES.add(*(holder + name for holder in HOLDERS for name in SEVERAL))
def draw_several(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Parameters and number of draws of vectors, and arrays to permute."""
    return SEVERAL[own_name(operator)](size)
