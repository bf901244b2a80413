"""Random numbers of a distribution, and the densities of samples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opperf.model import Argument, Fill, Operator
from opperf.operations.uses import Table, merge, use
from opperf.rules.configurations import WHY
from opperf.rules.deviations import NotFinite
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import Shape, column, shapes, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    POSITIVE,
    PROBABILITY,
    SIMPLEX,
    Arguments,
    below,
    between,
    fixed,
    tensor,
)

DRAWN = "-shape -dtype -data -size -out"
"""Arguments that do not affect the distribution, in the text of a use."""

ROLES = {
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
    **{name: use(f"random_{name}", f"{roles} {DRAWN}") for name, roles in ROLES.items()},
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


OPERATIONS: Table = merge(
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


FAMILIES = Families()

NOT_FINITE = dict.fromkeys(
    (
        *("_npi_gumbel", "_npi_logistic"),
        *("_random_exponential_like", "random_exponential", "sample_exponential"),
    ),
    NotFinite("the logarithm of a random number that is zero once in some ten million"),
)

SLOW = "negative_binomial"
"""In the names of operators that take some 300 ns for an element, the logarithms of their densities
included: as mixtures they draw from a gamma and from a Poisson distribution."""


def drawn(operator: Operator, size: Preset) -> tuple[Shape, ...]:
    """The shapes of draws: those of most operators, with a quarter of the rows for slow ones."""
    share = 4 if SLOW in operator.name else 1
    return tuple((max(1, rows // share), columns) for rows, columns in shapes(size))


NUMBERS: dict[str, dict[str, Argument]] = {
    "random_uniform": {"low": 0.0, "high": 1.0},
    "random_normal": {"loc": 0.0, "scale": 1.0},
    "random_gamma": {"alpha": 2.0, "beta": 1.0},
    "random_exponential": {"lam": 1.0},
    "random_poisson": {"lam": 4.0},
    "random_binomial": {"n": 10, "p": 0.5},
    "random_negative_binomial": {"k": 4, "p": 0.5},
    "random_generalized_negative_binomial": {"mu": 2.0, "alpha": 0.5},
    # The operator takes integer dtypes only, and the engine would set the requested one.
    "random_randint": {"low": 0, "high": 100, "dtype": "int32"},
}
"""Scalar parameters of distributions, with ordinary values."""

STANDS_FOR = {
    "uniform": "weights, as Glorot's initialisation draws them",
    "normal": "weights, as He's initialisation draws them",
    "gamma": "precisions of noise in Bayesian models",
    "exponential": "waiting times between events",
    "poisson": "counts of events, as the photons of a pixel",
    "binomial": "successes of several trials",
    "negative_binomial": "counts that vary more than Poisson's, as reads of genes",
    "generalized_negative_binomial": "counts by mean and dispersion, as DeepAR's forecasts",
    "randint": "positions of samples, as the bootstrap draws them",
    "gumbel": "noise of the Gumbel-softmax",
    "laplace": "noise of differential privacy",
    "logistic": "noise of the binary concrete distribution",
    "bernoulli": "masks of dropout",
    "rayleigh": "amplitudes of a fading radio signal",
    "pareto": "heavy-tailed numbers, as sizes of files",
    "powerd": "numbers below 1, most of them near it",
    "weibull": "lifetimes of parts, for survival analysis",
}
"""Uses of the draws of each distribution, by the operator's name without affixes."""

PREFIXES, SUFFIXES = ("_npi_", "_", "random_", "sample_"), ("_like", "_n")
"""Affixes of operators' names that are not the distribution's."""


def draws_of(operator: Operator) -> str:
    """The use of the operator's draws in practice."""
    name = operator.name
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return STANDS_FOR[name]


FORMS = ("a square matrix", "many short rows")
"""Descriptions of the two shapes of draws."""


@FAMILIES.add(*NUMBERS)
def draw(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution, and the shape of the draws."""
    for shape, form in zip(drawn(operator, size), FORMS, strict=True):
        why = f"{form} of {draws_of(operator)}"
        yield {**entry_of(NUMBERS, operator), "shape": shape, WHY: why}


WITHOUT_LIKE = ("random_binomial", "random_randint")


@FAMILIES.add(*(f"_{name}_like" for name in NUMBERS if name not in WITHOUT_LIKE))
def like(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution, and a tensor of the draws' shape."""
    numbers = NUMBERS[operator.name.removeprefix("_").removesuffix("_like")]
    for shape, form in zip(drawn(operator, size), FORMS, strict=True):
        why = f"{draws_of(operator)}, in the shape of {form}"
        yield {**numbers, "data": fixed(*shape), WHY: why}


PARAMETERS: dict[str, Fill] = {
    "mu": POSITIVE,
    "sigma": POSITIVE,
    "alpha": POSITIVE,
    "beta": POSITIVE,
    "lam": POSITIVE,
    "low": between(0.0, 1.0),
    "high": between(2.0, 3.0),
    "p": PROBABILITY,
    "k": below(10, start=1),
    "n": below(10, start=1),
}
"""Fills of parameters that are tensors, with an element for each row of draws."""

SAMPLED = (
    "sample_uniform",
    "sample_normal",
    "sample_gamma",
    "sample_exponential",
    "sample_poisson",
    "sample_binomial",
    "sample_negative_binomial",
    "sample_generalized_negative_binomial",
)


OF_EACH = (
    "many draws of each distribution, as a Monte Carlo estimate takes",
    "few draws of each of many distributions, as the paths of a forecast",
)


@FAMILIES.add(*SAMPLED)
def sample_rows(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution for each row, and the number of draws in a row."""
    for (rows, columns), why in zip(drawn(operator, size), OF_EACH, strict=True):
        parameters = {
            parameter.name: fixed(rows, fill=PARAMETERS[parameter.name])
            for parameter in operator.tensors
        }
        yield {**parameters, "shape": (columns,), WHY: why}


@FAMILIES.add("sample_multinomial", "sample_categorical")
def categories(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Probabilities in each row, and the number of draws; also with the draws' log-probabilities.

    In MXNet 2 this operator is called categorical, and multinomial is one that counts the draws of
    each class.
    """
    rows, classes = tall(size)
    if operator.parameter("n"):
        yield {
            "n": fixed(rows, fill=below(20, start=1)),
            "p": fixed(rows, classes, fill=SIMPLEX),
            WHY: "trials by each row's probabilities, counted by class",
        }
        return
    yield {
        "data": fixed(rows, classes, fill=SIMPLEX),
        "shape": (size.extent(10),),
        WHY: "a few classes by each row's probabilities, as the topics of documents",
    }
    yield {
        "data": tensor(rows, classes, fill=SIMPLEX),
        "shape": (size.extent(10),),
        "get_prob": True,
        WHY: "actions with their log-probabilities, as policy gradients need them",
    }


@FAMILIES.add("_sample_unique_zipfian")
def zipfian(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The number of classes and of draws."""
    why = "candidates of a sampled softmax over a large vocabulary, each drawn once"
    yield {"range_max": size.extent(100_000), "shape": (1, size.extent(4096)), WHY: why}


@FAMILIES.add("shuffle")
def shuffle(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, whose rows are shuffled."""
    few, many = shapes(size)
    yield {"data": fixed(*few), WHY: "few long rows: each move copies a block of memory"}
    yield {"data": fixed(*many), WHY: "many short rows, as samples before an epoch of training"}


NUMPY: dict[str, dict[str, Argument]] = {
    "_npi_uniform": {"low": 0.0, "high": 1.0},
    "_npi_uniform_n": {"low": 0.0, "high": 1.0},
    "_npi_normal": {"loc": 0.0, "scale": 1.0},
    "_npi_normal_n": {"loc": 0.0, "scale": 1.0},
    "_npi_gumbel": {"loc": 0.0, "scale": 1.0},
    "_npi_laplace": {"loc": 0.0, "scale": 1.0},
    "_npi_logistic": {"loc": 0.0, "scale": 1.0},
    "_npi_gamma": {"shape": 2.0, "scale": 1.0},
    "_npi_bernoulli": {"prob": 0.5, "logit": None, "is_logit": False},
    "_npi_exponential": {"scale": 1.0},
    "_npi_rayleigh": {"scale": 1.0},
    "_npi_pareto": {"a": 2.0},
    "_npi_powerd": {"a": 2.0},
    "_npi_weibull": {"a": 2.0},
}
"""Scalar parameters of `mx.np`'s distributions."""


@FAMILIES.add(*NUMPY)
def draw_numpy(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution, and the shape of the draws."""
    for shape, form in zip(shapes(size), FORMS, strict=True):
        why = f"{form} of {draws_of(operator)}"
        yield {**entry_of(NUMPY, operator), "size": shape, WHY: why}


@FAMILIES.add("_npi_choice")
def choice(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The population and the number of draws, with repetition and without."""
    (pool,) = vector(size)
    yield {
        "a": pool,
        "size": square(size),
        "replace": True,
        "weighted": False,
        WHY: "as many positions as there are, with repetition, as a bootstrap's samples",
    }
    rows, _ = column(size)
    yield {
        "a": pool,
        "size": (rows,),
        "replace": False,
        "weighted": False,
        WHY: "few of many positions, without repetition, as a mini-batch of samples",
    }


@FAMILIES.add("_npi_multinomial")
def multinomial(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Trials of six equally likely classes, whose draws are counted."""
    rows, _ = column(size)
    why = "throws of a die, counted by its faces, in many repetitions"
    yield {"n": 20, "pvals": (1 / 6,) * 6, "size": (rows,), WHY: why}
