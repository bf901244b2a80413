"""Random numbers of a distribution, and the densities of samples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from opperf.model import Fill, Operator
from opperf.operations.uses import Table, ToRoles, merge, use
from opperf.rules.configurations import DTYPE, HALF, TAGS, WHY
from opperf.rules.deviations import NotFinite
from opperf.rules.registering import Families, Rows, entry_of
from opperf.rules.shapes import Shape, line, shapes, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    ABOVE_ONE,
    NORMAL,
    POSITIVE,
    PROBABILITY,
    SIMPLEX,
    Arguments,
    below,
    between,
    call,
    fixed,
    tensor,
    without_gradients,
)
from opperf.rules.variants import Variants, add_rows

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
    **{name: (name, "loc scale") for name in ("gumbel", "laplace", "logistic", "normal")},
    "exponential": ("exponential", "scale"),
    "gamma": ("gamma", "shape scale"),
    "normal_n": ("normal", "loc scale"),
    "pareto": ("pareto", "a"),
    "powerd": ("power", "a"),
    "rayleigh": ("rayleigh", "scale"),
    "uniform": ("uniform", "low high"),
    "uniform_n": ("uniform", "low high"),
    "weibull": ("weibull", "a"),
}
"""Distributions of `mx.np`, and the roles of their parameters."""


def roles_of(names: str) -> ToRoles:
    """The parameters by these names, as numbers; tensors stand for those that are None."""

    def convert(
        size: Any, input1: Any = None, input2: Any = None, **numbers: Any
    ) -> dict[str, Any]:
        tensors = iter((input1, input2))
        own = ((name, numbers[name]) for name in names.split())
        return {name: next(tensors) if value is None else value for name, value in own}

    return convert


def bernoulli_roles(prob: Any, input1: Any = None, **other: Any) -> dict[str, Any]:
    """One trial and its probability."""
    assert other["logit"] is None
    return {"n": 1, "p": input1 if prob is None else prob}


def choice_roles(
    a: int, size: Any, replace: bool, weighted: bool, input1: Any = None
) -> dict[str, Any]:
    """The population, the shape, whether draws repeat, and by which weights."""
    return {"population": a, "size": size, "replace": replace, "weights": input1}


OPERATIONS: Table = merge(
    {f"random_{name}": one for name, one in OF_ND.items()},
    # MXNet has no `_random_binomial_like`.
    {f"_random_{name}_like": one for name, one in OF_ND.items() if name != "binomial"},
    {f"sample_{name}": one for name, one in OF_ND.items()},
    {
        f"_npi_{name}": use(f"random_{operation}", roles_of(roles))
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
"""In names of operators that take some 300 ns an element, to draw from a gamma and a Poisson."""

NARROW: Arguments = {DTYPE: "float16", TAGS: (HALF,)}
DOUBLE: Arguments = {DTYPE: "float64"}


def drawn(operator: Operator, size: Preset) -> tuple[Shape, ...]:
    """The shapes of draws: those of most operators, with a quarter of the rows for slow ones."""
    share = 4 if SLOW in operator.name else 1
    return tuple((max(1, rows // share), columns) for rows, columns in shapes(size))


STANDS_FOR = {
    "uniform": "numbers below 1, which dropout compares with its rate",
    "normal": "noise that a diffusion model begins with",
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
"""Uses of the draws of each distribution."""

EMBEDDING = "an embedding's vectors in half precision, as {} draw them"

NUMBERS: dict[str, tuple[Arguments, Arguments, str]] = {
    "random_uniform": (
        *(call(low=0.0, high=1.0), {"low": -0.07, "high": 0.07, **NARROW}),
        EMBEDDING.format("Gluon's defaults"),
    ),
    "random_normal": (
        *(call(loc=0.0, scale=1.0), {"loc": 0.0, "scale": 0.02, **NARROW}),
        EMBEDDING.format("transformers"),
    ),
    "random_gamma": (
        *(call(alpha=2.0, beta=1.0), call(alpha=0.1, beta=1.0)),
        "a sparse Dirichlet's numbers, most near zero: a shape below 1",
    ),
    "random_exponential": (call(lam=1.0), call(lam=1.0) | DOUBLE, "a simulation's waiting times"),
    "random_poisson": (call(lam=4.0), call(lam=100.0), "a bright pixel's photons, by rejection"),
    "random_binomial": (call(n=10, p=0.5), call(n=1000, p=0.3), "visitors of 1000 who buy"),
    "random_negative_binomial": (call(k=4, p=0.5), call(k=2, p=0.01), "reads of abundant genes"),
    "random_generalized_negative_binomial": (
        *(call(mu=2.0, alpha=0.5), call(mu=100.0, alpha=2.0)),
        "counts of about 100 of a large dispersion: a gamma's shape below 1, and rejection",
    ),
    # The operator takes integer dtypes only, and the engine would set the requested one.
    "random_randint": (
        *(call(low=0, high=100, dtype="int32"), call(low=0, high=2**40, dtype="int64")),
        "positions of a corpus's tokens, beyond the range of int32",
    ),
}
"""Scalar parameters: ordinary ones, and those of another algorithm or dtype, with why."""

FORMS = ("a matrix of long rows", "many short rows")
"""Descriptions of the two shapes of draws."""

LIKE = {
    f"_{name}_like": name for name in NUMBERS if name not in ("random_binomial", "random_randint")
}
"""Operators that draw in the shape of a tensor, and those of `NUMBERS` of their distributions."""


@FAMILIES.add(*NUMBERS, *LIKE)
def draw(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution, and the shape of the draws or a tensor of it."""
    square, rows = drawn(operator, size)
    name = LIKE.get(operator.name, operator.name)
    numbers, others, why = NUMBERS[name]
    use_of = STANDS_FOR[name.removeprefix("random_")]
    if operator.name in LIKE:
        yield {**numbers, "data": fixed(*square), WHY: f"{use_of}, in the shape of {FORMS[0]}"}
        yield {**others, "data": fixed(*rows), WHY: why}
    else:
        yield {**numbers, "shape": square, WHY: f"{FORMS[0]} of {use_of}"}
        yield {**others, "shape": rows, WHY: why}


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


@FAMILIES.add("sample_multinomial", "sample_categorical")
def categories(operator: Operator, size: Preset) -> Rows:
    """Probabilities in each row, and draws. In MXNet 2 it is categorical; multinomial counts."""
    data, shape = tensor(*tall(size), fill=SIMPLEX), (size.extent(10),)
    if operator.parameter("n"):
        trials = fixed(data.shape[0], fill=below(20, start=1))
        why = "trials by each row's probabilities, counted by class"
        return {why: without_gradients(call(n=trials, p=data))}
    words = tensor(size.images, size.extent(50_257), fill=SIMPLEX)
    return {
        "GPT-2's next token of a few texts": without_gradients(call(data=words, shape=(1,))),
        "few classes each, as documents' topics": without_gradients(call(data=data, shape=shape)),
        "actions with their log-probabilities": call(data=data, shape=shape, get_prob=True),
    }


class OfEach(NamedTuple):
    """Draws of `mx.np` by numbers, and by tensors of parameters, some with gradients."""

    numbers: Arguments
    fills: tuple[Fill, ...]
    """Of the tensors, which stand for the first numbers."""
    why: str
    gradient: bool = True


LOC_AND_SCALE: Arguments = {"loc": 0.0, "scale": 1.0}
UNIFORM = OfEach(
    {"low": 0.0, "high": 1.0},
    (PARAMETERS["low"], PARAMETERS["high"]),
    "trials of a random search, each option between bounds of its own",
    gradient=False,
)

NUMPY = {
    "_npi_normal": OfEach(LOC_AND_SCALE, (NORMAL, POSITIVE), "latent numbers by mean and scale"),
    "_npi_normal_n": OfEach(LOC_AND_SCALE, (NORMAL, POSITIVE), "evolution strategies' populations"),
    "_npi_uniform": UNIFORM,
    "_npi_uniform_n": UNIFORM,
    "_npi_gumbel": OfEach(LOC_AND_SCALE, (NORMAL,), "scores of classes with noise about each"),
    "_npi_laplace": OfEach(LOC_AND_SCALE, (NORMAL,), "answers to queries with noise about each"),
    "_npi_logistic": OfEach(LOC_AND_SCALE, (NORMAL,), "scores of gates with noise about each"),
    "_npi_gamma": OfEach(
        {"shape": 2.0, "scale": 1.0}, (between(0.1, 0.9),), "sparse Dirichlets", gradient=False
    ),
    "_npi_bernoulli": OfEach(
        {"prob": 0.5, "logit": None, "is_logit": False},
        (PROBABILITY,),
        "units by a probability each, as a Boltzmann machine's",
        gradient=False,
    ),
    "_npi_exponential": OfEach({"scale": 1.0}, (POSITIVE,), "times by a predicted mean each"),
    "_npi_rayleigh": OfEach({"scale": 1.0}, (POSITIVE,), "amplitudes by each user's strength"),
    "_npi_pareto": OfEach({"a": 2.0}, (ABOVE_ONE,), "losses by the tail of each contract"),
    "_npi_powerd": OfEach({"a": 2.0}, (POSITIVE,), "shares by a power each", gradient=False),
    "_npi_weibull": OfEach({"a": 2.0}, (POSITIVE,), "lifetimes by a shape each, early or late"),
}
"""Parameters of `mx.np`'s distributions."""


@FAMILIES.add(*NUMPY)
def draw_numpy(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution, and the shape of the draws."""
    square, (rows, columns) = shapes(size)
    one = entry_of(NUMPY, operator)
    use_of = STANDS_FOR[operator.name.removeprefix("_npi_").removesuffix("_n")]
    yield {**one.numbers, "size": square, WHY: f"{FORMS[0]} of {use_of}"}
    # `_n` takes the extents that come before those of the parameters.
    before = operator.name.endswith("_n")
    shape = (1 if before or one is UNIFORM else rows, columns)
    specs = [tensor(*shape, fill=fill, gradient=one.gradient) for fill in one.fills]
    tensors: Arguments = dict(zip(("input1", "input2"), specs, strict=False))
    given: Arguments = dict.fromkeys(list(one.numbers)[: len(specs)])
    extents = (rows,) if before else (rows, columns)
    yield {**tensors, **one.numbers, **given, "size": extents, WHY: one.why}


def chosen(size: Preset) -> Rows:
    """Positions of a population, all as likely, or by weights."""
    (few,), (many,) = line(size), vector(size)
    equal, weighted = {"a": many, "weighted": False}, {"a": few, "weighted": True}
    weights, batch = fixed(few, fill=SIMPLEX), (size.extent(256),)
    return {
        "as many positions as there are, with repetition: a bootstrap": call(
            **equal, size=square(size), replace=True
        ),
        "few of many positions, without repetition: a mini-batch": call(
            **equal, size=(few,), replace=False
        ),
        "transitions by their weights, as prioritised replay: a search each": call(
            **weighted, input1=weights, size=batch, replace=True
        ),
    }


VARIANTS: dict[str, Variants] = {
    "_sample_unique_zipfian": lambda size: {
        "candidates of a sampled softmax over a large vocabulary, each drawn once": call(
            range_max=size.extent(100_000), shape=(1, size.extent(4096))
        )
    },
    "shuffle": lambda size: {
        "few long rows: each move copies a block of memory": call(data=fixed(*square(size))),
        "many short rows, as samples before an epoch of training": call(data=fixed(*tall(size))),
    },
    "_npi_choice": chosen,
    "_npi_multinomial": lambda size: {
        "throws of a die, counted by its faces": call(n=20, pvals=(1 / 6,) * 6, size=line(size))
    },
}
add_rows(FAMILIES.add, VARIANTS)
