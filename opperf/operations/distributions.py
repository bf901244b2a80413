"""The canonical operations that are functions of a probability distribution, as `table` has the
others: its density, its cumulative probability and their inverses, by SciPy's names of these."""

from __future__ import annotations

from collections.abc import Mapping

NAMES: Mapping[str, str] = {
    "p": "bernoulli geometric",
    "a b loc scale": "beta truncated_normal",
    "n a b": "beta_binomial",
    "n p": "binomial multinomial negative_binomial",
    "loc scale": "cauchy exponential gumbel laplace left_gumbel logistic normal uniform",
    "df loc scale": "chi_square student_t",
    "alpha": "dirichlet",
    "a loc scale": "gamma",
    "beta": "generalized_normal",
    "mean cov": "multivariate_normal",
    "b loc scale": "pareto",
    "mu": "poisson",
    "kappa": "von_mises",
    "c": "wrapped_cauchy",
}
"""Distributions by their parameters, which have SciPy's names."""

PARAMETERS: Mapping[str, str] = {
    name: parameters for parameters, names in NAMES.items() for name in names.split()
}
"""Parameters of each distribution, by SciPy's names."""


def operation_of(distribution: str) -> str:
    """Returns the operation's name of a distribution in `PARAMETERS`."""
    return f"{distribution}_distribution"


TABLE: Mapping[str, str] = {
    f"point function:enum {parameters}": " ".join(map(operation_of, names.split()))
    for parameters, names in NAMES.items()
}
