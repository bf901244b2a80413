"""Functions that draw random numbers: those of `np.random`, and the methods of `Generator`."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Operator
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import line, square
from opperf.rules.sizes import Preset
from opperf.rules.values import POSITIVE, POSITIVE_DEFINITE, SIMPLEX, Arguments, below, fixed
from opperf.rules.variants import Variants

FAMILIES = Families()

HOLDERS = ("random.", "random.Generator.")
"""Prefixes of functions that draw: the legacy ones of `np.random`, and the methods of `Generator`,
whose algorithms differ."""

DISTRIBUTIONS: dict[str, dict[str, Argument]] = {
    "beta": {
        "a": 2.0,
        "b": 3.0,
        WHY: "shapes above 1: a ratio of gamma draws, as rates of clicks in Thompson sampling",
    },
    "binomial": {"n": 20, "p": 0.3, WHY: "few trials: by inversion, as buyers among 20 visitors"},
    "chisquare": {"df": 4.0, WHY: "twice a gamma draw, as a sum of squared errors"},
    "exponential": {"scale": 1.0, WHY: "times between events, as arrivals in a queue"},
    "f": {
        "dfnum": 4.0,
        "dfden": 10.0,
        WHY: "a ratio of chi-squares, as the statistic of an analysis of variance",
    },
    "gamma": {
        "shape": 2.0,
        "scale": 1.0,
        WHY: "shape above 1: Marsaglia and Tsang's rejection, as amounts of rain",
    },
    "geometric": {
        "p": 0.3,
        WHY: "chance below a third: by inversion, as tries up to the first success",
    },
    "gumbel": {
        "loc": 0.0,
        "scale": 1.0,
        WHY: "two logarithms each, as the noise that samples a token from logits",
    },
    "hypergeometric": {
        "ngood": 30,
        "nbad": 20,
        "nsample": 10,
        WHY: "good ones among 10 drawn of 50, as a lot is inspected",
    },
    "integers": {"low": 0, "high": 1000, WHY: "whole numbers below 1000, as labels of ImageNet"},
    "laplace": {
        "loc": 0.0,
        "scale": 1.0,
        WHY: "by inversion: a logarithm each, as the noise of differential privacy",
    },
    "logistic": {
        "loc": 0.0,
        "scale": 1.0,
        WHY: "by inversion: a logarithm each, as the utilities of a logit model",
    },
    "lognormal": {"mean": 0.0, "sigma": 1.0, WHY: "the exponential of a normal draw, as incomes"},
    "logseries": {"p": 0.6, WHY: "individuals of a species, as in Fisher's log series"},
    "negative_binomial": {
        "n": 5,
        "p": 0.4,
        WHY: "a gamma draw, then a Poisson draw, as counts of a gene's reads",
    },
    "noncentral_chisquare": {
        "df": 4.0,
        "nonc": 2.0,
        WHY: "a chi-square and a shifted normal draw, as the power of a test",
    },
    "noncentral_f": {
        "dfnum": 4.0,
        "dfden": 10.0,
        "nonc": 2.0,
        WHY: "a ratio of chi-squares, one noncentral, as the power of an analysis of variance",
    },
    "normal": {
        "loc": 0.0,
        "scale": 1.0,
        WHY: "normal numbers, scaled and shifted, as a layer's initial weights",
    },
    "pareto": {"a": 3.0, WHY: "a heavy tail, from an exponential draw, as claims on insurers"},
    "poisson": {
        "lam": 4.0,
        WHY: "a mean below 10: products of uniform numbers, as photons in a pixel",
    },
    "power": {"a": 3.0, WHY: "a power of a uniform number, as the best of three scores"},
    "randint": {"low": 0, "high": 1000, WHY: "whole numbers below 1000, as labels of ImageNet"},
    "random": {WHY: "uniform numbers below 1, as they decide what dropout clears"},
    "random_integers": {
        "low": 1,
        "high": 1000,
        WHY: "whole numbers from 1 to 1000: the deprecated form of `randint`",
    },
    "random_sample": {WHY: "uniform numbers below 1, as points of a Monte Carlo integral"},
    "rayleigh": {
        "scale": 1.0,
        WHY: "the length of two normal numbers' vector, as the fading of a radio signal",
    },
    "standard_cauchy": {WHY: "a ratio of normal draws, as the jumps of fast simulated annealing"},
    "standard_exponential": {WHY: "times between events of mean 1, as decays"},
    "standard_gamma": {
        "shape": 2.0,
        WHY: "shape above 1: Marsaglia and Tsang's rejection, as parts of a Dirichlet draw",
    },
    "standard_normal": {WHY: "normal numbers as they are, as the noise of a diffusion model"},
    "standard_t": {
        "df": 5.0,
        WHY: "a normal draw by the root of a gamma draw, as returns of shares",
    },
    "triangular": {
        "left": -1.0,
        "mode": 0.0,
        "right": 1.0,
        WHY: "by inversion: a square root each, as costs between a least and a most",
    },
    "uniform": {
        "low": 0.0,
        "high": 1.0,
        WHY: "uniform numbers between two bounds, as Glorot's initial weights",
    },
    "vonmises": {"mu": 0.0, "kappa": 2.0, WHY: "angles, by rejection, as directions of the wind"},
    "wald": {"mean": 1.0, "scale": 1.0, WHY: "a normal and a uniform draw, as times to a decision"},
    "weibull": {"a": 1.5, WHY: "a power of an exponential draw, as lifetimes of parts"},
    "zipf": {"a": 3.0, WHY: "by rejection, as the links of a node in a scale-free network"},
}
"""Parameters of distributions, for which the whole algorithm runs and the moments are finite, each
with why."""

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


def to_permute(vector: str, table: str) -> Variants:
    """The configurations of a function that permutes: a vector and a table, each with why."""
    return lambda size: [
        {"x": fixed(*line(size)), WHY: vector},
        {"x": fixed(*square(size)), WHY: table},
    ]


SEVERAL: dict[str, Variants] = {
    "rand": lambda size: [
        {"size": square(size), WHY: "uniform numbers below 1, as points to test in a search"}
    ],
    "randn": lambda size: [{"size": square(size), WHY: "normal numbers, as noise on a signal"}],
    "choice": lambda size: [
        {"a": fixed(*line(size)), "size": line(size), "replace": replace, WHY: why}
        for replace, why in (
            (True, "with replacement, as the bootstrap: random indices"),
            (False, "without replacement, all of them, as the order of an epoch"),
        )
    ],
    "dirichlet": lambda size: [
        {
            "alpha": fixed(COLOURS, fill=POSITIVE, dtype=DOUBLE),
            "size": line(size),
            WHY: "shares of eight topics, as of documents in latent Dirichlet allocation",
        }
    ],
    "multinomial": lambda size: [
        {
            "n": 20,
            "pvals": fixed(COLOURS, fill=SIMPLEX, dtype=DOUBLE),
            "size": line(size),
            WHY: "20 votes on eight parties, as polls: binomial draws, one after another",
        }
    ],
    "multivariate_hypergeometric": lambda size: [
        {
            "colors": fixed(COLOURS, fill=below(40, start=10), dtype="int64"),
            "nsample": 20,
            "size": line(size),
            WHY: "20 of an urn of eight colours, not put back, as a sample of species",
        }
    ],
    "multivariate_normal": lambda size: [
        {
            "mean": fixed(COLOURS, dtype=DOUBLE),
            "cov": fixed(COLOURS, COLOURS, fill=POSITIVE_DEFINITE, dtype=DOUBLE),
            "size": line(size),
            WHY: "eight correlated numbers, as shares' returns: an SVD, and a product",
        }
    ],
    "permutation": to_permute(
        "a vector's copy, shuffled, as labels in a permutation test",
        "a table's rows, by random indices, as a data set before it is split",
    ),
    "permuted": to_permute(
        "a vector's copy, shuffled, as labels in a permutation test",
        "all elements of a table, across rows and columns, as a null model",
    ),
    "shuffle": to_permute(
        "a vector in place, as the order of samples before an epoch",
        "a table's rows in place, as samples before an epoch: each through a buffer",
    ),
}


@FAMILIES.add(*(holder + name for holder in HOLDERS for name in SEVERAL))
def draw_several(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Parameters and number of draws of vectors, and arrays to permute."""
    return SEVERAL[own_name(operator)](size)
