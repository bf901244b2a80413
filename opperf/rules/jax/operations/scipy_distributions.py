"""JAX's distributions, `jax.scipy.stats`."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.operations.distributions import PARAMETERS, operation_of
from opperf.operations.uses import Table, Use, use

DENSITIES = "logpdf pdf"
ALL = "cdf logcdf logpdf logsf pdf sf"
COUNTS = "logpmf pmf"

FUNCTIONS: Mapping[str, tuple[str, str]] = {
    "bernoulli": ("bernoulli", f"cdf {COUNTS} ppf"),
    "beta": ("beta", ALL),
    "betabinom": ("beta_binomial", COUNTS),
    "binom": ("binomial", COUNTS),
    "cauchy": ("cauchy", f"{ALL} isf ppf"),
    "chi2": ("chi_square", ALL),
    "dirichlet": ("dirichlet", DENSITIES),
    "expon": ("exponential", f"{ALL} ppf"),
    "gamma": ("gamma", ALL),
    "gennorm": ("generalized_normal", f"cdf {DENSITIES}"),
    "geom": ("geometric", COUNTS),
    "gumbel_l": ("left_gumbel", f"{ALL} ppf"),
    "gumbel_r": ("gumbel", f"{ALL} ppf"),
    "laplace": ("laplace", f"cdf {DENSITIES}"),
    "logistic": ("logistic", f"cdf {DENSITIES} isf ppf sf"),
    "multinomial": ("multinomial", COUNTS),
    "multivariate_normal": ("multivariate_normal", DENSITIES),
    "nbinom": ("negative_binomial", COUNTS),
    "norm": ("normal", f"{ALL} isf ppf"),
    "pareto": ("pareto", f"{ALL} ppf"),
    "poisson": ("poisson", f"cdf {COUNTS}"),
    "t": ("student_t", DENSITIES),
    "truncnorm": ("truncated_normal", ALL),
    "uniform": ("uniform", f"cdf {DENSITIES} ppf"),
    "vonmises": ("von_mises", DENSITIES),
    "wrapcauchy": ("wrapped_cauchy", DENSITIES),
}
"""Distribution and functions of each of JAX's modules."""


STANDARD = frozenset({("exponential", "ppf")})
"""Functions that are right for the standard distribution alone: JAX 0.7 takes the location and the
scale before the logarithm."""


def function_of(distribution: str, function: str) -> Use:
    """Returns the use of a distribution's function. Its points have several names."""
    parameters = "" if (distribution, function) in STANDARD else PARAMETERS[distribution]
    # A parameter's name after those of points: `p` is a point where it is no parameter.
    text = f"point=x|k|q|p {parameters}"
    return use(operation_of(distribution), text, function=function)


TABLE: Table = {
    f"scipy.stats.{module}.{function}": function_of(distribution, function)
    for module, (distribution, functions) in FUNCTIONS.items()
    for function in functions.split()
}
