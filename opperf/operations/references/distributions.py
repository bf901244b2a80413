"""Functions of probability distributions, through SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from opperf.operations.distributions import operation_of
from opperf.operations.references import sampling
from opperf.operations.references.reference import Array, Functions

NAMES = (
    "bernoulli beta beta_binomial=betabinom binomial=binom cauchy chi_square=chi2 "
    "exponential=expon gamma generalized_normal=gennorm geometric=geom gumbel=gumbel_r laplace "
    "left_gumbel=gumbel_l logistic multinomial multivariate_normal negative_binomial=nbinom "
    "normal=norm pareto poisson student_t=t truncated_normal=truncnorm uniform von_mises=vonmises "
    "wrapped_cauchy=wrapcauchy"
)
"""Distributions by opperf's names, with SciPy's where it is another."""

DISTRIBUTIONS: dict[str, Any] = {
    name: getattr(stats, other or name)
    for name, _, other in (word.partition("=") for word in NAMES.split())
}


def of_scipy(distribution: Any) -> Callable[..., Array]:
    """Returns a function of a distribution's function, by name, and of its inputs."""

    def compute(point: Array, function: str, **parameters: Array) -> Array:
        made: Array = getattr(distribution, function)(point, **parameters)
        return made

    return compute


def dirichlet(point: Array, function: str, alpha: Array) -> Array:
    """The density of one point: SciPy refuses points whose sum has single precision's error."""
    logarithm = np.asarray(sampling.dirichlet(point, alpha))
    return {"logpdf": logarithm, "pdf": np.exp(logarithm)}[function]


def multinomial(point: Array, function: str, n: Array, p: Array) -> Array:
    """The probability of counts: SciPy refuses shares whose sum has single precision's error."""
    shares = np.asarray(p, dtype=float)
    return of_scipy(stats.multinomial)(point, function, n=n, p=shares / shares.sum())


REFERENCES: Functions = {
    **{operation_of(name): of_scipy(function) for name, function in DISTRIBUTIONS.items()},
    operation_of("dirichlet"): dirichlet,
    operation_of("multinomial"): multinomial,
}
