"""The canonical operations of `jax.random`."""

from __future__ import annotations

from typing import Any

from opperf.operations.uses import Array, Table, Use, use

DRAWN = "-shape -dtype"
"""Arguments that do not affect the distribution, in the text of a use."""


def draws(operation: str, roles: str = "", **constants: Any) -> Use:
    """The use of a distribution."""
    return use(f"random_{operation}", f"{roles} {DRAWN}", **constants)


def weibull_roles(scale: float, concentration: float, **drawn: Any) -> dict[str, Any]:
    """The shape of a distribution whose scale is one."""
    assert scale == 1
    return {"a": concentration}


def choice_roles(
    a: int, shape: tuple[int, ...], replace: bool = True, dtype: Any = None
) -> dict[str, Any]:
    """The numbers to draw from, and how many are drawn."""
    return {"population": a, "size": shape, "replace": replace}


def permutation_roles(x: Any) -> dict[str, Any]:
    """The rows to shuffle: those below a number where there is no array."""
    import numpy as np

    return {"data": x if isinstance(x, np.ndarray) else np.arange(x)}


def multinomial_roles(n: Any, p: Array, shape: tuple[int, ...], **drawn: Any) -> dict[str, Any]:
    """The number of trials, and the probability of each class."""
    return {"n": int(n), "probabilities": p, "size": shape[:-1]}


def standard(operation: str) -> Use:
    """The use of a distribution whose mean or mode is zero, and whose scale is one."""
    return draws(operation, loc=0.0, scale=1.0)


TABLE: Table = {
    f"random.{name}": one
    for name, one in {
        "bernoulli": draws("binomial", "p", n=1),
        "beta": draws("beta", "a b"),
        "binomial": draws("binomial", "n p"),
        "cauchy": draws("cauchy"),
        "chisquare": draws("chi_square", "df"),
        "choice": use("random_choice", choice_roles),
        "exponential": draws("exponential", scale=1.0),
        "f": draws("f", "df1=dfnum df2=dfden"),
        "gamma": draws("gamma", "shape=a", scale=1.0),
        "geometric": draws("geometric", "p"),
        "gumbel": standard("gumbel"),
        "laplace": standard("laplace"),
        "logistic": standard("logistic"),
        "lognormal": draws("log_normal", "sigma", mean=0.0),
        "multinomial": use("random_multinomial", multinomial_roles),
        "normal": standard("normal"),
        "permutation": use("shuffle", permutation_roles),
        "poisson": draws("poisson", "rate=lam"),
        "randint": draws("uniform_integer", "low=minval high=maxval"),
        "rayleigh": draws("rayleigh", "scale"),
        "t": draws("student_t", "df"),
        "triangular": draws("triangular", "low=left mode high=right"),
        "uniform": draws("uniform", "low=minval high=maxval"),
        "wald": draws("wald", "mean", scale=1.0),
        "weibull_min": use("random_weibull", weibull_roles),
    }.items()
}
