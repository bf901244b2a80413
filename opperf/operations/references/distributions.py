"""Functions of probability distributions, through SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from opperf.operations.distributions import operation_of
from opperf.operations.references import sampling
from opperf.operations.references.reference import Array, references

DISTRIBUTIONS: dict[str, Any] = {
    "bernoulli": stats.bernoulli,
    "beta": stats.beta,
    "beta_binomial": stats.betabinom,
    "binomial": stats.binom,
    "cauchy": stats.cauchy,
    "chi_square": stats.chi2,
    "exponential": stats.expon,
    "gamma": stats.gamma,
    "generalized_normal": stats.gennorm,
    "geometric": stats.geom,
    "gumbel": stats.gumbel_r,
    "laplace": stats.laplace,
    "left_gumbel": stats.gumbel_l,
    "logistic": stats.logistic,
    "multinomial": stats.multinomial,
    "multivariate_normal": stats.multivariate_normal,
    "negative_binomial": stats.nbinom,
    "normal": stats.norm,
    "pareto": stats.pareto,
    "poisson": stats.poisson,
    "student_t": stats.t,
    "truncated_normal": stats.truncnorm,
    "uniform": stats.uniform,
    "von_mises": stats.vonmises,
    "wrapped_cauchy": stats.wrapcauchy,
}


def of_scipy(distribution: Any) -> Callable[..., Array]:
    """Returns a function of a distribution's function, by name, and of its inputs."""

    def compute(point: Array, function: str, **parameters: Array) -> Array:
        made: Array = getattr(distribution, function)(point, **parameters)
        return made

    return compute


def dirichlet(point: Array, function: str, alpha: Array) -> Array:
    """The density of one point. SciPy refuses points whose sum has the error of single
    precision."""
    logarithm = np.asarray(sampling.dirichlet(point, alpha))
    return {"logpdf": logarithm, "pdf": np.exp(logarithm)}[function]


def multinomial(point: Array, function: str, n: Array, p: Array) -> Array:
    """The probability of counts. SciPy refuses probabilities whose sum has the error of single
    precision."""
    shares = np.asarray(p, dtype=float)
    return of_scipy(stats.multinomial)(point, function, n=n, p=shares / shares.sum())


REFERENCES = references(
    {
        **{operation_of(name): of_scipy(function) for name, function in DISTRIBUTIONS.items()},
        operation_of("dirichlet"): dirichlet,
        operation_of("multinomial"): multinomial,
    }
)
