"""Functions that draw random numbers: those of `np.random`, and the methods of `Generator`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opperf.model import Argument, Fill, Operator
from opperf.operations.uses import Table, Use, merge, use
from opperf.operations.work.sizes import COMPUTED
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import line, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    POSITIVE,
    POSITIVE_DEFINITE,
    PROBABILITY,
    SIMPLEX,
    Arguments,
    below,
    between,
    call,
    fixed,
)
from opperf.rules.variants import Variants


def drawing(operation: str, roles: str = "", **constants: Any) -> Use:
    """The use of a distribution. The size does not affect it."""
    return use(f"random_{operation}", f"{roles} -size -dtype", **constants)


DRAWN = {
    "beta": drawing("beta", "a b"),
    "binomial": drawing("binomial", "n p"),
    "chisquare": drawing("chi_square", "df"),
    "exponential": drawing("exponential", "scale"),
    "f": drawing("f", "df1=dfnum df2=dfden"),
    "gamma": drawing("gamma", "shape scale"),
    "geometric": drawing("geometric", "p"),
    "gumbel": drawing("gumbel", "loc scale"),
    "hypergeometric": drawing("hypergeometric", "good=ngood bad=nbad draws=nsample"),
    "laplace": drawing("laplace", "loc scale"),
    "logistic": drawing("logistic", "loc scale"),
    "lognormal": drawing("log_normal", "mean sigma"),
    "logseries": drawing("log_series", "p"),
    "multinomial": use("random_multinomial", "n probabilities=pvals size"),
    "negative_binomial": drawing("negative_binomial", "failures=n p"),
    "noncentral_chisquare": drawing("noncentral_chi_square", "df noncentrality=nonc"),
    "normal": drawing("normal", "loc scale"),
    "pareto": drawing("pareto", "a"),
    "poisson": drawing("poisson", "rate=lam"),
    "power": drawing("power", "a"),
    "rayleigh": drawing("rayleigh", "scale"),
    "standard_cauchy": drawing("cauchy"),
    "standard_exponential": drawing("exponential", scale=1.0),
    "standard_gamma": drawing("gamma", "shape", scale=1.0),
    "standard_normal": drawing("normal", loc=0.0, scale=1.0),
    "standard_t": drawing("student_t", "df"),
    "triangular": drawing("triangular", "low=left mode high=right"),
    "uniform": drawing("uniform", "low high"),
    "wald": drawing("wald", "mean scale"),
    "weibull": drawing("weibull", "a"),
}

UNIT = drawing("uniform", low=0.0, high=1.0)

OPERATIONS: Table = merge(
    {f"random.{name}": one for name, one in DRAWN.items()},
    {f"random.Generator.{name}": one for name, one in DRAWN.items()},
    {
        "random.Generator.integers": drawing("uniform_integer", "low high"),
        "random.Generator.permutation": use("shuffle", "data=x"),
        "random.Generator.random": UNIT,
        "random.permutation": use("shuffle", "data=x"),
        "random.rand": UNIT,
        "random.randint": drawing("uniform_integer", "low high"),
        "random.randn": drawing("normal", loc=0.0, scale=1.0),
        "random.random_sample": UNIT,
    },
)


FAMILIES = Families()

HOLDERS = ("random.", "random.Generator.")
"""Prefixes of functions that draw: the legacy ones of `np.random`, and the methods of `Generator`,
whose algorithms differ."""

WORK = dict.fromkeys(
    (
        *(holder + name for holder in HOLDERS for name in ("noncentral_f", "vonmises", "zipf")),
        "random.random_integers",
    ),
    COMPUTED,
)
"""Of distributions without a canonical operation."""

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
    "integers": {"low": 0, "high": 1000, WHY: "integers below 1000, as labels of ImageNet"},
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
    "logseries": {"p": 0.6, WHY: "individuals of a species, for Fisher's log series"},
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
    "randint": {"low": 0, "high": 1000, WHY: "integers below 1000, as labels of ImageNet"},
    "random": {WHY: "uniform numbers below 1, as they decide what dropout clears"},
    "random_integers": {
        "low": 1,
        "high": 1000,
        WHY: "integers from 1 to 1000: the deprecated form of `randint`",
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

OTHERWISE: dict[str, tuple[dict[str, Argument], ...]] = {
    "f": ({"dfnum": 1.0, "dfden": 10.0, WHY: "one degree above: a gamma draw of shape below 1"},),
    "negative_binomial": (
        {"n": 50, "p": 0.1, WHY: "a mean of 450: the Poisson draw by rejection, as reads of RNA"},
    ),
    "noncentral_chisquare": (
        {"df": 1.0, "nonc": 2.0, WHY: "one degree: a Poisson draw, then a chi-square of so many"},
    ),
    "noncentral_f": (
        {
            "dfnum": 1.0,
            "dfden": 10.0,
            "nonc": 2.0,
            WHY: "one degree above: a Poisson draw, then a chi-square of so many",
        },
    ),
    "randint": ({"low": 0, "high": 256, "dtype": "int32", WHY: "in int32: half a word for each"},),
    "beta": ({"a": 0.5, "b": 0.5, WHY: "shapes below 1: Jöhnk's rejection, as Jeffreys' prior"},),
    "binomial": ({"n": 1000, "p": 0.3, WHY: "many trials: by rejection (BTPE), as polls"},),
    "chisquare": ({"df": 1.0, WHY: "one degree: a gamma draw of shape below 1"},),
    "gamma": ({"shape": 0.5, "scale": 1.0, WHY: "shape below 1: another rejection, as gaps"},),
    "geometric": ({"p": 0.5, WHY: "chance above a third: by search, as throws of a coin"},),
    "hypergeometric": (
        {
            "ngood": 3000,
            "nbad": 2000,
            "nsample": 1000,
            WHY: "many drawn: by rejection (HRUA), as marked fish among those that are caught",
        },
    ),
    "integers": ({"low": 0, "high": 256, "dtype": "uint8", WHY: "bytes, four of each word drawn"},),
    "logseries": (
        {"p": 0.99, WHY: "close to one: far larger numbers, as a rich forest's species"},
    ),
    "poisson": (
        {"lam": 100.0, WHY: "a mean above 10: by rejection (PTRS), as a detector's counts"},
    ),
    "standard_gamma": (
        {"shape": 1.0, WHY: "shape 1: an exponential draw"},
        {"shape": 0.5, WHY: "shape below 1: another rejection, as gaps"},
    ),
    "vonmises": ({"mu": 0.0, "kappa": 200.0, WHY: "close to one direction: fewer are rejected"},),
    "zipf": ({"a": 1.5, WHY: "an exponent near 1: far larger numbers, as links of the web"},),
}
"""Parameters for which another algorithm, or another branch of one, draws."""

IN_SINGLE: dict[str, dict[str, Argument]] = {
    "random": {"dtype": "float32", WHY: "in float32, a word of 32 bits each, as dropout's mask"},
    "standard_exponential": {"dtype": "float32", WHY: "in float32, by a table of its own"},
    "standard_normal": {"dtype": "float32", WHY: "in float32, as a network's initial weights"},
}
"""Draws of `Generator` in single precision, with tables of their own."""

OF_EACH: dict[str, tuple[str, ...]] = {
    "binomial": ("p",),
    **dict.fromkeys(("exponential", "rayleigh"), ("scale",)),
    "lognormal": ("mean", "sigma"),
    **dict.fromkeys(("gumbel", "laplace", "logistic", "normal"), ("loc", "scale")),
    **dict.fromkeys(("pareto", "power", "weibull"), ("a",)),
    "poisson": ("lam",),
    "standard_t": ("df",),
    "triangular": ("left", "right"),
    "uniform": ("low", "high"),
    "wald": ("mean", "scale"),
}
"""Parameters that each row of the draws has of its own."""

RANGES: dict[str, Fill] = {
    **dict.fromkeys(("loc", "low"), between(-1.0, 0.0)),
    **dict.fromkeys(("scale", "high"), POSITIVE),
    "lam": between(1.0, 50.0),
    "p": PROBABILITY,
    **dict.fromkeys(("a", "right"), between(2.0, 5.0)),
    "df": between(5.0, 10.0),
    "left": between(-2.0, -1.0),
    **dict.fromkeys(("mean", "sigma"), POSITIVE),
}
"""Fills of such parameters."""

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
    name, rows = own_name(operator), square(size)[0]
    made = DISTRIBUTIONS[name]
    yield {**made, "size": square(size)}
    for other in OTHERWISE.get(name, ()):
        yield {**other, "size": square(size)}
    if name in IN_SINGLE and operator.parameter("dtype"):
        yield {**IN_SINGLE[name], "size": square(size)}
    if name in OF_EACH:
        each = {p: fixed(rows, 1, fill=RANGES[p], dtype=DOUBLE) for p in OF_EACH[name]}
        yield {**made, **each, "size": square(size), WHY: "parameters of each row, as groups"}


def to_permute(vector: str, table: str) -> Variants:
    """The configurations of a function that permutes: a vector and a table, each with why."""
    return lambda size: {vector: call(x=fixed(*line(size))), table: call(x=fixed(*square(size)))}


def chosen(size: Preset) -> Iterable[Arguments]:
    """Numbers of a vector: with and without replacement, and by weights."""
    of: Arguments = {"a": fixed(*line(size)), "size": line(size)}
    again = "with replacement, as the bootstrap: random indices"
    yield {**of, "replace": True, WHY: again}
    once = "without replacement, all of them, as the order of an epoch"
    yield {**of, "replace": False, WHY: once}
    weighed = "by weights, as prioritised replay: a search in their sums for each"
    weights = fixed(*line(size), fill=SIMPLEX, dtype=DOUBLE)
    yield {**of, "p": weights, WHY: weighed}
    few: Arguments = {"size": size.extent(100), "replace": False}
    of_many = "few of many, without replacement, as a batch: by a set, or a shuffle of all"
    yield {"a": fixed(*vector(size)), **few, WHY: of_many}
    distinct = "few by weights, none twice, as a survey's sample: again until all are distinct"
    yield {**of, **few, "p": weights, WHY: distinct}


SEVERAL: dict[str, Variants] = {
    "rand": lambda size: [
        {"size": square(size), WHY: "uniform numbers below 1, as points to test in a search"}
    ],
    "randn": lambda size: {"normal numbers, as noise on a signal": call(size=square(size))},
    "choice": chosen,
    "dirichlet": lambda size: {
        "shares of eight topics in documents: latent Dirichlet allocation": call(
            alpha=fixed(COLOURS, fill=POSITIVE, dtype=DOUBLE), size=line(size)
        ),
        "sparse shares of a few of 362 words or moves: shapes far below 1": call(
            alpha=fixed(362, fill=between(0.01, 0.05), dtype=DOUBLE), size=size.extent(256)
        ),
    },
    "multinomial": lambda size: {
        "20 votes on eight parties, as polls: binomial draws, one after another": call(
            n=20, pvals=fixed(COLOURS, fill=SIMPLEX, dtype=DOUBLE), size=line(size)
        ),
        "a thousand votes on eight parties: binomial draws by rejection": call(
            n=1000, pvals=fixed(COLOURS, fill=SIMPLEX, dtype=DOUBLE), size=line(size)
        ),
    },
    "multivariate_hypergeometric": lambda size: {
        why: call(
            colors=fixed(COLOURS, fill=below(40, start=10), dtype="int64"),
            nsample=20,
            size=line(size),
            **options,
        )
        for options, why in (
            ({}, "20 of an urn of eight colours, not put back, as a sample of species"),
            ({"method": "count"}, "the same, each ball by itself: an array of all is shuffled"),
        )
    },
    "multivariate_normal": lambda size: {
        why: call(
            mean=fixed(count, dtype=DOUBLE),
            cov=fixed(count, count, fill=POSITIVE_DEFINITE, dtype=DOUBLE),
            size=draws,
        )
        for count, draws, why in (
            (
                COLOURS,
                line(size),
                "eight correlated numbers, as shares' returns: an SVD, and a product",
            ),
            (
                size.extent(512),
                size.extent(64),
                "a Gaussian process at many points: most of it the SVD",
            ),
        )
    },
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
def draw_several(operator: Operator, size: Preset) -> Rows:
    """Parameters and number of draws of vectors, and arrays to permute."""
    return SEVERAL[own_name(operator)](size)
