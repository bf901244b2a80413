"""Random numbers of a distribution, and the densities of samples."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Fill, Operator
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import Shape, column, shapes, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    NORMAL,
    POSITIVE,
    PROBABILITY,
    SIMPLEX,
    Arguments,
    below,
    between,
    fixed,
    tensor,
)

FAMILIES = Families()

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
    "weibull": "lifetimes of parts, as in survival analysis",
}
"""What the draws of each distribution are in practice, by the operator's name without affixes."""

PREFIXES, SUFFIXES = ("_npi_", "_", "random_", "sample_"), ("_like", "_n")
"""Affixes of operators' names that are not the distribution's."""


def draws_of(operator: Operator) -> str:
    """What the operator's draws are in practice."""
    name = operator.name
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return STANDS_FOR[name]


FORMS = ("a square matrix", "many short rows")
"""What the two shapes of draws are."""


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


SAMPLES: dict[str, Fill] = {
    "random_pdf_uniform": between(1.0, 2.0),
    "random_pdf_normal": NORMAL,
    "random_pdf_gamma": POSITIVE,
    "random_pdf_exponential": POSITIVE,
    "random_pdf_poisson": below(10),
    "random_pdf_negative_binomial": below(10),
    "random_pdf_generalized_negative_binomial": below(10),
}
"""Fills of samples at which the distributions' densities are above zero."""


DENSITIES = (
    (False, "likelihoods of rows of samples, as the weights of a particle filter"),
    (True, "log-likelihoods of rows of samples, as the loss of probabilistic forecasts"),
)
"""Whether the logarithm of a density is computed, and why."""


@FAMILIES.add(*SAMPLES)
def density(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A row of samples for each distribution, for the density and for its logarithm."""
    (rows, columns), *_ = drawn(operator, size)
    for logarithm, why in DENSITIES:
        yield {
            parameter.name: (
                tensor(rows, columns, fill=entry_of(SAMPLES, operator))
                if parameter.name == "sample"
                else tensor(rows, fill=PARAMETERS[parameter.name])
            )
            for parameter in operator.tensors
        } | {"is_log": logarithm, WHY: why}


OF_SIMPLEX = (
    (False, "densities of points of a simplex, as a mixture of Dirichlet distributions adds them"),
    (True, "log-densities of points of a simplex, as of documents' topics in LDA"),
)
"""As `DENSITIES`, of shares that add up to one."""


@FAMILIES.add("random_pdf_dirichlet")
def dirichlet(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Points of a simplex, for the density and for its logarithm."""
    rows, classes = size.extent(1000), 10
    for logarithm, why in OF_SIMPLEX:
        yield {
            "sample": tensor(rows, size.extent(100), classes, fill=SIMPLEX),
            "alpha": tensor(rows, classes, fill=POSITIVE),
            "is_log": logarithm,
            WHY: why,
        }


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
