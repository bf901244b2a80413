"""The canonical operations that are functions of a probability distribution, as `table` has the
others: its density, its cumulative probability and their inverses, by SciPy's names of these."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.operations.canonical import CanonicalOperation, operations

PARAMETERS: Mapping[str, str] = {
    "bernoulli": "p",
    "beta": "a b loc scale",
    "beta_binomial": "n a b",
    "binomial": "n p",
    "cauchy": "loc scale",
    "chi_square": "df loc scale",
    "dirichlet": "alpha",
    "exponential": "loc scale",
    "gamma": "a loc scale",
    "generalized_normal": "beta",
    "geometric": "p",
    "gumbel": "loc scale",
    "laplace": "loc scale",
    "left_gumbel": "loc scale",
    "logistic": "loc scale",
    "multinomial": "n p",
    "multivariate_normal": "mean cov",
    "negative_binomial": "n p",
    "normal": "loc scale",
    "pareto": "b loc scale",
    "poisson": "mu",
    "student_t": "df loc scale",
    "truncated_normal": "a b loc scale",
    "uniform": "loc scale",
    "von_mises": "kappa",
    "wrapped_cauchy": "c",
}
"""Parameters of each distribution, by SciPy's names."""


def operation_of(distribution: str) -> str:
    """Returns the operation's name of a distribution in `PARAMETERS`."""
    return f"{distribution}_distribution"


def _inputs(parameters: str) -> str:
    return " ".join(
        ["point:tensor function:enum", *(f"{parameter}:tensor" for parameter in parameters.split())]
    )


ALL: tuple[CanonicalOperation, ...] = tuple(
    operation
    for name, parameters in PARAMETERS.items()
    for operation in operations("distributions", {_inputs(parameters): operation_of(name)})
)
