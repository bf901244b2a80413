"""Functions that draw random numbers: those of `np.random`, and the methods of `Generator`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opperf.model import Fill, Operator
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

HOLDERS = ("random.", "random.Generator.")
"""The legacy functions of `np.random`, and methods of `Generator`: their algorithms differ."""

OPERATIONS: Table = merge(
    {holder + name: one for holder in HOLDERS for name, one in DRAWN.items()},
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


def held(*names: str) -> list[str]:
    """The names in both places."""
    return [holder + name for holder in HOLDERS for name in names]


WORK = dict.fromkeys(
    (*held("noncentral_f", "vonmises", "zipf"), "random.random_integers"), COMPUTED
)
"""Of distributions without a canonical operation."""

DISTRIBUTIONS: dict[str, dict[str, Arguments]] = {
    "beta": {
        "shapes above 1: a ratio of gamma draws, as rates in Thompson sampling": call(a=2.0, b=3.0),
        "shapes below 1: Jöhnk's rejection, as Jeffreys' prior": call(a=0.5, b=0.5),
    },
    "binomial": {
        "few trials: by inversion, as buyers among 20 visitors": call(n=20, p=0.3),
        "many trials: by rejection (BTPE), as polls": call(n=1000, p=0.3),
    },
    "chisquare": {
        "twice a gamma draw, as a sum of squared errors": call(df=4.0),
        "one degree: a gamma draw of shape below 1": call(df=1.0),
    },
    "exponential": {"times between events, as arrivals in a queue": call(scale=1.0)},
    "f": {
        "a ratio of chi-squares, as an analysis of variance": call(dfnum=4.0, dfden=10.0),
        "one degree above: a gamma draw of shape below 1": call(dfnum=1.0, dfden=10.0),
    },
    "gamma": {
        "shape above 1: Marsaglia and Tsang's rejection, as rainfall": call(shape=2.0, scale=1.0),
        "shape below 1: another rejection, as gaps": call(shape=0.5, scale=1.0),
    },
    "geometric": {
        "chance below a third: by inversion, as tries up to the first success": call(p=0.3),
        "chance above a third: by search, as throws of a coin": call(p=0.5),
    },
    "gumbel": {"two logarithms each, as noise that samples a token": call(loc=0.0, scale=1.0)},
    "hypergeometric": {
        "good ones in 10 drawn of 50, as a lot is inspected": call(ngood=30, nbad=20, nsample=10),
        "many drawn: rejection (HRUA), as marked fish": call(ngood=3000, nbad=2000, nsample=1000),
    },
    "integers": {
        "integers below 1000, as labels of ImageNet": call(low=0, high=1000),
        "bytes, four of each word drawn": call(low=0, high=256, dtype="uint8"),
    },
    "laplace": {"by inversion, as the noise of differential privacy": call(loc=0.0, scale=1.0)},
    "logistic": {"by inversion, as the utilities of a logit model": call(loc=0.0, scale=1.0)},
    "lognormal": {"the exponential of a normal draw, as incomes": call(mean=0.0, sigma=1.0)},
    "logseries": {
        "individuals of a species, for Fisher's log series": call(p=0.6),
        "close to one: far larger numbers, as a rich forest's species": call(p=0.99),
    },
    "negative_binomial": {
        "a gamma draw, then a Poisson draw, as counts of a gene's reads": call(n=5, p=0.4),
        "a large mean: the Poisson draw by rejection, as reads of RNA": call(n=50, p=0.1),
    },
    "noncentral_chisquare": {
        "a chi-square and a shifted normal draw, as the power of a test": call(df=4.0, nonc=2.0),
        "one degree: a Poisson draw, then a chi-square of so many": call(df=1.0, nonc=2.0),
    },
    "noncentral_f": {
        "a ratio of chi-squares, as a test's power": call(dfnum=4.0, dfden=10.0, nonc=2.0),
        "one degree: a Poisson draw, then a chi-square": call(dfnum=1.0, dfden=10.0, nonc=2.0),
    },
    "normal": {"normal numbers, scaled and shifted, as noise of sensors": call(loc=0.0, scale=1.0)},
    "pareto": {"a heavy tail, from an exponential draw, as claims on insurers": call(a=3.0)},
    "poisson": {
        "a mean below 10: products of uniform numbers, as photons in a pixel": call(lam=4.0),
        "a mean above 10: by rejection (PTRS), as a detector's counts": call(lam=100.0),
    },
    "power": {"a power of a uniform number, as the best of three scores": call(a=3.0)},
    "randint": {
        "integers below 1000, as labels of ImageNet": call(low=0, high=1000),
        "in int32: half a word for each": call(low=0, high=256, dtype="int32"),
    },
    "random": {"uniform numbers below 1, as they decide what dropout clears": call()},
    "random_integers": {"from 1 to 1000: the deprecated form of `randint`": call(low=1, high=1000)},
    "random_sample": {"uniform numbers below 1, as points of a Monte Carlo integral": call()},
    "rayleigh": {"a vector's length, as the fading of a radio signal": call(scale=1.0)},
    "standard_cauchy": {"a ratio of normal draws, as jumps of fast simulated annealing": call()},
    "standard_exponential": {"times between events of mean 1, as decays": call()},
    "standard_gamma": {
        "shape above 1: Marsaglia and Tsang's rejection, as Dirichlet's parts": call(shape=2.0),
        "shape 1: an exponential draw": call(shape=1.0),
        "shape below 1: another rejection, as gaps": call(shape=0.5),
    },
    "standard_normal": {"normal numbers as they are, as the noise of a diffusion model": call()},
    "standard_t": {"a normal draw by the root of a gamma draw, as returns of shares": call(df=5.0)},
    "triangular": {"by inversion: a root each, for costs": call(left=-1.0, mode=0.0, right=1.0)},
    "uniform": {"between two bounds, as a random search's options": call(low=0.0, high=1.0)},
    "vonmises": {
        "angles, by rejection, as directions of the wind": call(mu=0.0, kappa=2.0),
        "close to one direction: fewer are rejected": call(mu=0.0, kappa=200.0),
    },
    "wald": {"a normal and a uniform draw, as times to a decision": call(mean=1.0, scale=1.0)},
    "weibull": {"a power of an exponential draw, as lifetimes of parts": call(a=1.5)},
    "zipf": {
        "by rejection, as the links of a node in a scale-free network": call(a=3.0),
        "a tail of infinite mean: far larger numbers": call(a=1.5),
    },
}
"""Parameters of distributions for which the whole algorithm runs and the moments are finite;
then those for which another algorithm, or another branch of one, draws."""


IN_SINGLE = {
    "random": "in float32, a word of 32 bits each, as dropout's mask",
    "standard_exponential": "in float32, by a table of its own",
    "standard_normal": "in float32, as a network's initial weights",
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
URN = below(40, start=10)
DOUBLE = "float64"
"""Dtype of parameters that are arrays: probabilities of less precision may add up to more than
1."""


def own_name(operator: Operator) -> str:
    """A function's name without its prefix."""
    return operator.name.rpartition(".")[2]


@FAMILIES.add(*held(*DISTRIBUTIONS))
def draw(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution, and the shape of a matrix of draws."""
    name, shape = own_name(operator), square(size)
    for why, made in DISTRIBUTIONS[name].items():
        yield {**made, "size": shape, WHY: why}
    if name in IN_SINGLE and operator.parameter("dtype"):
        yield {"dtype": "float32", "size": shape, WHY: IN_SINGLE[name]}
    if name in OF_EACH:
        first = next(iter(DISTRIBUTIONS[name].values()))
        each = {p: fixed(shape[0], 1, fill=RANGES[p], dtype=DOUBLE) for p in OF_EACH[name]}
        yield {**first, **each, "size": shape, WHY: "parameters of its own for each row"}


def to_permute(vector: str, table: str) -> Variants:
    """The configurations of a function that permutes: a vector and a table, each with why."""
    return lambda size: {vector: call(x=fixed(*line(size))), table: call(x=fixed(*square(size)))}


def chosen(size: Preset) -> Rows:
    """Numbers of a vector: with and without replacement, and by weights."""
    data, all_of = fixed(*line(size)), line(size)
    few = call(size=size.extent(100), replace=False)
    weights = fixed(*all_of, fill=SIMPLEX, dtype=DOUBLE)
    return {
        "with replacement, as bootstraps: random indices": call(a=data, size=all_of, replace=True),
        "without replacement, as an epoch's order": call(a=data, size=all_of, replace=False),
        "by weights, as prioritised replay: a search each": call(a=data, size=all_of, p=weights),
        "few of many, as a batch: by a set, or a shuffle": call(a=fixed(*vector(size)), **few),
        "few by weights, none twice: again until distinct": call(a=data, **few, p=weights),
    }


SEVERAL: dict[str, Variants] = {
    "rand": lambda size: {"uniform numbers, as points to try in a search": call(size=square(size))},
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
        why: call(colors=fixed(COLOURS, fill=URN, dtype="int64"), nsample=20, size=line(size), **by)
        for by, why in (
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
            (COLOURS, line(size), "eight correlated numbers, as shares: an SVD, and a product"),
            (size.extent(512), size.extent(64), "a Gaussian process, many points: mostly the SVD"),
        )
    },
    "permutation": to_permute(
        "a vector's copy, shuffled, as labels in a permutation test",
        "a table's rows, by random indices, as a data set before it is split",
    ),
    "permuted": lambda size: {
        "a vector's copy, shuffled, as labels in a permutation test": call(x=fixed(*line(size))),
        "each row of a table by itself, as the samples of a permutation test": call(
            x=fixed(*square(size)), axis=1
        ),
    },
    "shuffle": to_permute(
        "a vector in place, as the labels of a permutation test",
        "a table's rows in place, as samples before an epoch: each through a buffer",
    ),
}


@FAMILIES.add(*held(*SEVERAL))
def draw_several(operator: Operator, size: Preset) -> Rows:
    """Parameters and number of draws of vectors, and arrays to permute."""
    return SEVERAL[own_name(operator)](size)
