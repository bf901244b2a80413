"""NumPy's random numbers, of the older functions and of a generator's methods."""

from __future__ import annotations

from typing import Any

from opperf.operations.uses import Table, Use, merge, use


def drawn(operation: str, roles: str = "", **constants: Any) -> Use:
    """Numbers of a distribution; how many is shown by the draws themselves."""
    return use(f"random_{operation}", f"{roles} -size", **constants)


DISTRIBUTIONS = {
    "beta": drawn("beta", "a b"),
    "binomial": drawn("binomial", "n p"),
    "chisquare": drawn("chi_square", "df"),
    "exponential": drawn("exponential", "scale"),
    "f": drawn("f", "df1=dfnum df2=dfden"),
    "gamma": drawn("gamma", "shape scale"),
    "geometric": drawn("geometric", "p"),
    "gumbel": drawn("gumbel", "loc scale"),
    "hypergeometric": drawn("hypergeometric", "good=ngood bad=nbad draws=nsample"),
    "laplace": drawn("laplace", "loc scale"),
    "logistic": drawn("logistic", "loc scale"),
    "lognormal": drawn("log_normal", "mean sigma"),
    "logseries": drawn("log_series", "p"),
    "multinomial": use("random_multinomial", "n probabilities=pvals size"),
    "negative_binomial": drawn("negative_binomial", "failures=n p"),
    "noncentral_chisquare": drawn("noncentral_chi_square", "df noncentrality=nonc"),
    "normal": drawn("normal", "loc scale"),
    "pareto": drawn("pareto", "a"),
    "poisson": drawn("poisson", "rate=lam"),
    "power": drawn("power", "a"),
    "rayleigh": drawn("rayleigh", "scale"),
    "standard_cauchy": drawn("cauchy"),
    "standard_exponential": drawn("exponential", scale=1.0),
    "standard_gamma": drawn("gamma", "shape", scale=1.0),
    "standard_normal": drawn("normal", loc=0.0, scale=1.0),
    "standard_t": drawn("student_t", "df"),
    "triangular": drawn("triangular", "low=left mode high=right"),
    "uniform": drawn("uniform", "low high"),
    "wald": drawn("wald", "mean scale"),
    "weibull": drawn("weibull", "a"),
}

UNIT = drawn("uniform", low=0.0, high=1.0)

TABLE: Table = merge(
    {f"random.{name}": one for name, one in DISTRIBUTIONS.items()},
    {f"random.Generator.{name}": one for name, one in DISTRIBUTIONS.items()},
    {
        "random.Generator.integers": drawn("uniform_integer", "low high"),
        "random.Generator.permutation": use("shuffle", "data=x"),
        "random.Generator.random": UNIT,
        "random.permutation": use("shuffle", "data=x"),
        "random.rand": UNIT,
        "random.randint": drawn("uniform_integer", "low high"),
        "random.randn": drawn("normal", loc=0.0, scale=1.0),
        "random.random_sample": UNIT,
    },
)
