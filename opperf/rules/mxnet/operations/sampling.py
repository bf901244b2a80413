"""MXNet's operators that draw random numbers, and the densities of samples."""

from __future__ import annotations

from typing import Any

from opperf.operations.uses import Table, merge, use

DRAWN = "-shape -dtype -data -size -out"
"""Arguments that do not affect the distribution, in the text of a use."""

PARAMETERS = {
    "binomial": "n p",
    "gamma": "shape=alpha scale=beta",
    "generalized_negative_binomial": "mu alpha",
    "negative_binomial": "failures=k p",
    "normal": "loc=loc|mu scale=scale|sigma",
    "poisson": "rate=lam",
    "uniform": "low high",
}
"""The roles of the parameters of `mx.nd`'s distributions."""


def exponential_roles(lam: Any, **other: Any) -> dict[str, Any]:
    """The scale, one over the rate."""
    assert other.keys() <= {"shape", "dtype", "data", "out"}
    return {"scale": 1 / lam}


OF_ND = {
    "exponential": use("random_exponential", exponential_roles),
    **{name: use(f"random_{name}", f"{roles} {DRAWN}") for name, roles in PARAMETERS.items()},
}

OF_NUMPY = {
    "exponential": ("exponential", "scale"),
    "gamma": ("gamma", "shape scale"),
    "gumbel": ("gumbel", "loc scale"),
    "laplace": ("laplace", "loc scale"),
    "logistic": ("logistic", "loc scale"),
    "normal": ("normal", "loc scale"),
    "normal_n": ("normal", "loc scale"),
    "pareto": ("pareto", "a"),
    "powerd": ("power", "a"),
    "rayleigh": ("rayleigh", "scale"),
    "uniform": ("uniform", "low high"),
    "uniform_n": ("uniform", "low high"),
    "weibull": ("weibull", "a"),
}
"""Distributions of `mx.np`, and the roles of their parameters."""


def bernoulli_roles(prob: Any, logit: Any, is_logit: bool, size: Any) -> dict[str, Any]:
    """One trial and its probability."""
    assert not is_logit and logit is None
    return {"n": 1, "p": prob}


def choice_roles(a: int, size: Any, replace: bool, weighted: bool) -> dict[str, Any]:
    """The population, whose members are equally likely, the shape, and whether draws repeat."""
    assert not weighted
    return {"population": a, "size": size, "replace": replace}


DRAWS = merge(
    {f"random_{name}": one for name, one in OF_ND.items()},
    # MXNet has no `_random_binomial_like`.
    {f"_random_{name}_like": one for name, one in OF_ND.items() if name != "binomial"},
    {f"sample_{name}": one for name, one in OF_ND.items()},
    {
        f"_npi_{name}": use(f"random_{operation}", f"{roles} -size")
        for name, (operation, roles) in OF_NUMPY.items()
    },
    {
        "_npi_bernoulli": use("random_binomial", bernoulli_roles),
        "_npi_choice": use("random_choice", choice_roles),
        "_npi_multinomial": use("random_multinomial", "n probabilities=pvals size"),
        "_sample_unique_zipfian": use("random_log_uniform_classes", "limit=range_max shape"),
        "random_randint": use("random_uniform_integer", f"low high {DRAWN}"),
        "sample_categorical": use("random_categorical", "probabilities=data -shape -get_prob"),
        "shuffle": use("shuffle", "data"),
    },
)

DENSITIES: Table = {
    f"random_pdf_{name}": use(f"{name}_density", f"sample is_log {roles}")
    for name, roles in {
        "dirichlet": "alpha",
        "exponential": "rate=lam",
        # `beta` is a rate here, and a scale where numbers are drawn.
        "gamma": "shape=alpha rate=beta",
        "generalized_negative_binomial": "mu alpha",
        "negative_binomial": "failures=k p",
        "normal": "loc=mu scale=sigma",
        "poisson": "rate=lam",
        "uniform": "low high",
    }.items()
}

TABLE: Table = merge(DRAWS, DENSITIES)
