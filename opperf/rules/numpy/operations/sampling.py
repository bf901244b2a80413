"""NumPy's random numbers: the legacy functions, and the methods of `Generator`."""

from __future__ import annotations

from typing import Any

from opperf.operations.uses import Table, Use, merge, use


def draw(operation: str, roles: str = "", **constants: Any) -> Use:
    """The use of a distribution. The size does not affect it."""
    return use(f"random_{operation}", f"{roles} -size", **constants)


DISTRIBUTIONS = {
    "beta": draw("beta", "a b"),
    "binomial": draw("binomial", "n p"),
    "chisquare": draw("chi_square", "df"),
    "exponential": draw("exponential", "scale"),
    "f": draw("f", "df1=dfnum df2=dfden"),
    "gamma": draw("gamma", "shape scale"),
    "geometric": draw("geometric", "p"),
    "gumbel": draw("gumbel", "loc scale"),
    "hypergeometric": draw("hypergeometric", "good=ngood bad=nbad draws=nsample"),
    "laplace": draw("laplace", "loc scale"),
    "logistic": draw("logistic", "loc scale"),
    "lognormal": draw("log_normal", "mean sigma"),
    "logseries": draw("log_series", "p"),
    "multinomial": use("random_multinomial", "n probabilities=pvals size"),
    "negative_binomial": draw("negative_binomial", "failures=n p"),
    "noncentral_chisquare": draw("noncentral_chi_square", "df noncentrality=nonc"),
    "normal": draw("normal", "loc scale"),
    "pareto": draw("pareto", "a"),
    "poisson": draw("poisson", "rate=lam"),
    "power": draw("power", "a"),
    "rayleigh": draw("rayleigh", "scale"),
    "standard_cauchy": draw("cauchy"),
    "standard_exponential": draw("exponential", scale=1.0),
    "standard_gamma": draw("gamma", "shape", scale=1.0),
    "standard_normal": draw("normal", loc=0.0, scale=1.0),
    "standard_t": draw("student_t", "df"),
    "triangular": draw("triangular", "low=left mode high=right"),
    "uniform": draw("uniform", "low high"),
    "wald": draw("wald", "mean scale"),
    "weibull": draw("weibull", "a"),
}

UNIT = draw("uniform", low=0.0, high=1.0)

TABLE: Table = merge(
    {f"random.{name}": one for name, one in DISTRIBUTIONS.items()},
    {f"random.Generator.{name}": one for name, one in DISTRIBUTIONS.items()},
    {
        "random.Generator.integers": draw("uniform_integer", "low high"),
        "random.Generator.permutation": use("shuffle", "data=x"),
        "random.Generator.random": UNIT,
        "random.permutation": use("shuffle", "data=x"),
        "random.rand": UNIT,
        "random.randint": draw("uniform_integer", "low high"),
        "random.randn": draw("normal", loc=0.0, scale=1.0),
        "random.random_sample": UNIT,
    },
)
