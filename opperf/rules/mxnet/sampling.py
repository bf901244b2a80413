"""Random numbers of a distribution, and the densities of samples."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Fill, Operator
from opperf.rules.engine import Families
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


@FAMILIES.add(*NUMBERS)
def draw(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution, and the shape of the draws."""
    for shape in drawn(operator, size):
        yield {**NUMBERS[operator.name], "shape": shape}


WITHOUT_LIKE = ("random_binomial", "random_randint")


@FAMILIES.add(*(f"_{name}_like" for name in NUMBERS if name not in WITHOUT_LIKE))
def like(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution, and a tensor of the draws' shape."""
    for shape in drawn(operator, size):
        numbers = NUMBERS[operator.name.removeprefix("_").removesuffix("_like")]
        yield {**numbers, "data": fixed(*shape)}


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


@FAMILIES.add(*SAMPLED)
def sample_rows(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution for each row, and the number of draws in a row."""
    for rows, columns in drawn(operator, size):
        parameters = {
            parameter.name: fixed(rows, fill=PARAMETERS[parameter.name])
            for parameter in operator.tensors
        }
        yield {**parameters, "shape": (columns,)}


@FAMILIES.add("sample_multinomial", "sample_categorical")
def categories(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Probabilities in each row, and the number of draws; also with the draws' log-probabilities,
    which policy gradients need.

    In MXNet 2 this operator is called categorical, and multinomial is one that counts the draws of
    each class.
    """
    rows, classes = tall(size)
    if operator.parameter("n"):
        yield {"n": fixed(rows, fill=below(20, start=1)), "p": fixed(rows, classes, fill=SIMPLEX)}
        return
    yield {"data": fixed(rows, classes, fill=SIMPLEX), "shape": (size.extent(10),)}
    yield {
        "data": tensor(rows, classes, fill=SIMPLEX),
        "shape": (size.extent(10),),
        "get_prob": True,
    }


@FAMILIES.add("_sample_unique_zipfian")
def zipfian(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The number of classes and of draws, as for a sampled softmax over a large vocabulary."""
    yield {"range_max": size.extent(100_000), "shape": (1, size.extent(4096))}


@FAMILIES.add("shuffle")
def shuffle(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, whose rows are shuffled."""
    for shape in shapes(size):
        yield {"data": fixed(*shape)}


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


@FAMILIES.add(*SAMPLES)
def density(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A row of samples for each distribution, for the density and for its logarithm."""
    (rows, columns), *_ = drawn(operator, size)
    for logarithm in (False, True):
        yield {
            parameter.name: (
                tensor(rows, columns, fill=SAMPLES[operator.name])
                if parameter.name == "sample"
                else tensor(rows, fill=PARAMETERS[parameter.name])
            )
            for parameter in operator.tensors
        } | {"is_log": logarithm}


@FAMILIES.add("random_pdf_dirichlet")
def dirichlet(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Points of a simplex, for the density and for its logarithm."""
    rows, classes = size.extent(1000), 10
    for logarithm in (False, True):
        yield {
            "sample": tensor(rows, size.extent(100), classes, fill=SIMPLEX),
            "alpha": tensor(rows, classes, fill=POSITIVE),
            "is_log": logarithm,
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
    for shape in shapes(size):
        yield {**NUMPY[operator.name], "size": shape}


@FAMILIES.add("_npi_choice")
def choice(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The population and the number of draws, with repetition and without."""
    (pool,) = vector(size)
    yield {"a": pool, "size": square(size), "replace": True, "weighted": False}
    rows, _ = column(size)
    yield {"a": pool, "size": (rows,), "replace": False, "weighted": False}


@FAMILIES.add("_npi_multinomial")
def multinomial(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Trials of six equally likely classes, whose draws are counted."""
    rows, _ = column(size)
    yield {"n": 20, "pvals": (1 / 6,) * 6, "size": (rows,)}
