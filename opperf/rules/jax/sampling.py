"""Families of `jax.random`. opperf adds the key of every call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opperf.model import Argument, DType, Fill, Operator
from opperf.operations.uses import Table, Use, use
from opperf.rules.bert import few_sentences
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import CLASSES
from opperf.rules.jax.properties import INDEX
from opperf.rules.registering import Families
from opperf.rules.shapes import FEW, Shape, line, square, tiny
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    POSITIVE,
    POSITIVE_DEFINITE,
    PROBABILITY,
    REQUESTED,
    SIMPLEX,
    Arguments,
    below,
    between,
    call,
    fixed,
    literal,
    tensor,
)
from opperf.rules.variants import Variants, add_rows

DRAWN = "-shape -dtype"
"""Arguments that do not affect the distribution, in the text of a use."""


def draws(operation: str, roles: str = "", **constants: Any) -> Use:
    """The use of a distribution."""
    return use(f"random_{operation}", f"{roles} {DRAWN}", **constants)


def weibull_roles(scale: float, concentration: float, **drawn: Any) -> dict[str, Any]:
    """The shape of a distribution whose scale is one."""
    assert scale == 1
    return {"a": concentration}


def choice_roles(
    a: int, shape: tuple[int, ...], replace: bool = True, p: Any = None
) -> dict[str, Any]:
    """The numbers to draw from, how many are drawn, and by which weights."""
    return {"population": a, "size": shape, "replace": replace, "weights": p}


def permutation_roles(x: Any) -> dict[str, Any]:
    """The rows to shuffle: those below a number where there is no array."""
    import numpy as np

    return {"data": x if isinstance(x, np.ndarray) else np.arange(x)}


def standard(operation: str) -> Use:
    """The use of a distribution whose mean or mode is zero, and whose scale is one."""
    return draws(operation, loc=0.0, scale=1.0)


OPERATIONS: Table = {
    f"random.{name}": one
    for name, one in {
        "bernoulli": draws("binomial", "p", n=1),
        "beta": draws("beta", "a b"),
        "binomial": draws("binomial", "n p"),
        "cauchy": draws("cauchy"),
        "chisquare": draws("chi_square", "df"),
        "choice": use("random_choice", choice_roles),
        "exponential": draws("exponential", scale=1.0),
        "f": draws("f", "df1=dfnum df2=dfden"),
        "gamma": draws("gamma", "shape=a", scale=1.0),
        "geometric": draws("geometric", "p"),
        "gumbel": standard("gumbel"),
        "laplace": standard("laplace"),
        "logistic": standard("logistic"),
        "lognormal": draws("log_normal", "sigma", mean=0.0),
        "multinomial": use(
            "random_multinomial",
            lambda n, p, shape, **drawn: {"n": int(n), "probabilities": p, "size": shape[:-1]},
        ),
        "normal": standard("normal"),
        "permutation": use("shuffle", permutation_roles),
        "poisson": draws("poisson", "rate=lam"),
        "randint": draws("uniform_integer", "low=minval high=maxval"),
        "rayleigh": draws("rayleigh", "scale"),
        "t": draws("student_t", "df"),
        "triangular": draws("triangular", "low=left mode high=right"),
        "uniform": draws("uniform", "low=minval high=maxval"),
        "wald": draws("wald", "mean", scale=1.0),
        "weibull_min": use("random_weibull", weibull_roles),
    }.items()
}


FAMILIES = Families()

IN_DTYPE: dict[str, Argument] = {"dtype": DType(REQUESTED)}
"""Draws of the requested dtype, where parameters are arrays."""


def few(size: Preset) -> Shape:
    """Shape of fewer draws, for distributions drawn by rejection, which take long for each."""
    return (size.extent(256), 128)


CHEAP: dict[str, tuple[str, Arguments]] = {
    "bernoulli": ("units that dropout keeps, nine of ten", call(p=0.9)),
    "bits": ("bits as they come, which every distribution begins with", call(dtype="uint32")),
    "cauchy": ("by inversion: a tangent each, as jumps of annealing", {}),
    "exponential": ("by inversion: a logarithm each, as times between events", {}),
    "gumbel": ("two logarithms each, as the noise that samples from logits", {}),
    "laplace": ("by inversion, as the noise of differential privacy", {}),
    "logistic": ("by inversion, as the utilities of a logit model", {}),
    "lognormal": ("the exponential of a normal draw, as sizes of claims", call(sigma=1.2)),
    "maxwell": ("lengths of three normal numbers' vectors, as speeds in a gas", {}),
    "normal": ("noise, as a diffusion model begins with", {}),
    "pareto": ("a heavy tail, as claims on insurers", call(b=3.0)),
    "rademacher": ("signs at random, as Hutchinson's estimate of a trace", call(dtype=INDEX)),
    "randint": ("labels below the number of classes", call(minval=0, maxval=CLASSES, dtype=INDEX)),
    "rayleigh": ("the fading of a radio signal", call(scale=1.0)),
    "triangular": ("by inversion: a root each, for costs", call(left=-1.0, mode=0.0, right=1.0)),
    "truncated_normal": ("Flax's initial weights, within two sigmas", call(lower=-2.0, upper=2.0)),
    "uniform": ("initial weights between two bounds, as Glorot's", call(minval=-0.05, maxval=0.05)),
    "wald": ("a normal and a uniform draw, as times to a decision", call(mean=1.0)),
    "weibull_min": ("a power of a draw, as lifetimes of parts", call(scale=1.0, concentration=1.5)),
}
"""Parameters of distributions that are drawn by a formula, each with why."""

IN_BFLOAT16 = {
    "normal": "a diffusion model's noise in bfloat16: a byte of bits each",
    "uniform": "initial weights in bfloat16: a byte of bits each",
}
"""Those which networks draw in bfloat16 too, and why."""

OF_INTEGERS = frozenset({"bernoulli", "bits", "geometric", "poisson", "rademacher", "randint"})
"""Those that have no real numbers, whose dtype is their own."""

REJECTED: dict[str, tuple[str, Arguments]] = {
    "beta": ("two gamma draws, as rates in Thompson sampling", call(a=2.0, b=3.0)),
    "binomial": ("few trials: by inversion, as buyers among visitors", call(n=20.0, p=0.3)),
    "chisquare": ("twice a gamma draw, as a sum of squared errors", call(df=4.0)),
    "double_sided_maxwell": ("a Maxwell draw and a sign, as velocities", call(loc=0.0, scale=1.0)),
    "f": ("a ratio of chi-squares, as an analysis of variance", call(dfnum=4.0, dfden=10.0)),
    "gamma": ("Marsaglia and Tsang's rejection, as amounts of rain", call(a=2.0)),
    "generalized_normal": ("a gamma draw and a sign, as noise of lighter tails", call(p=3.0)),
    "geometric": ("lengths of the spans that SpanBERT masks", call(p=0.2)),
    "loggamma": ("the logarithm of small gamma draws, which would be zero", call(a=0.5)),
    "poisson": ("a mean below 10: products of uniform numbers, as photons", call(lam=4.0)),
    "t": ("a normal draw by the root of a gamma draw, as returns of shares", call(df=5.0)),
}
"""Parameters of distributions that are drawn by rejection or from several draws, each with why."""

OF_GAMMA = frozenset(["beta", "chisquare", "f", "gamma", "generalized_normal", "loggamma", "t"])
"""Those of gamma draws, each a loop on a CPU: of a thousand, each takes as long as of many."""


def name_of(operator: Operator) -> str:
    """A function's name without its module."""
    return operator.name.rpartition(".")[2]


def drawn(operator: Operator, table: dict[str, tuple[str, Arguments]]) -> Arguments:
    """The parameters of a distribution, for draws of the requested dtype if they are real."""
    why, values = table[name_of(operator)]
    real = {} if name_of(operator) in OF_INTEGERS else IN_DTYPE
    return {**values, **real, WHY: why}


@FAMILIES.add(*(f"random.{name}" for name in CHEAP))
def draw(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix of draws, for some in bfloat16 too, and few draws."""
    values, name = drawn(operator, CHEAP), name_of(operator)
    yield {**values, "shape": square(size)}
    if name in IN_BFLOAT16:
        half: Arguments = {"dtype": DType("bfloat16"), WHY: IN_BFLOAT16[name]}
        yield {**values, "shape": square(size), **half}
    yield {**values, "shape": tiny(size), **FEW}


@FAMILIES.add(*(f"random.{name}" for name in REJECTED))
def draw_few(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Fewer draws, of a matrix, and of a vector where a call has no loop for each."""
    values = drawn(operator, REJECTED)
    yield {**values, "shape": few(size)}
    if name_of(operator) not in OF_GAMMA:
        vector = (size.extent(1000),)
        yield {**values, "shape": vector, WHY: "a thousand draws, as a small simulation"}


OF_EACH: dict[str, Variants] = {
    "random.bernoulli": lambda size: {
        "units of a Boltzmann machine": call(p=fixed(*few_sentences(size), fill=PROBABILITY))
    },
    "random.beta": lambda size: {
        "a rate of each arm, for Thompson sampling: with gradients": call(
            **dict.fromkeys("ab", tensor(*few(size), fill=POSITIVE))
        )
    },
    "random.binomial": lambda size: {
        "some tens of trials: by rejection, as buyers among the visitors of each shop": call(
            n=fixed(*few(size), fill=below(41, start=10)), p=fixed(*few(size), fill=PROBABILITY)
        )
    },
    "random.gamma": lambda size: {
        "latent rates, with gradients": call(a=tensor(*few(size), fill=between(0.5, 8.0)))
    },
    "random.poisson": lambda size: {
        "means above 10: by rejection": call(lam=fixed(*few(size), fill=between(20.0, 200.0)))
    },
}
"""A parameter of each draw."""
add_rows(FAMILIES.also, OF_EACH)


COLOURS = 8
"""Classes, and variables."""


def vocabulary(size: Preset) -> int:
    """The number of tokens of Llama 2's vocabulary."""
    return size.extent(32_000)


SEED = fixed(fill=literal(7), dtype=INDEX)

OWN: dict[str, Variants] = {
    "random.ball": lambda size: [
        {"d": 3, "shape": few(size), **IN_DTYPE, WHY: "points in a ball, as around a particle"},
        {"d": 128, "shape": (size.extent(256),), WHY: "points in a ball of many dimensions"},
    ],
    "random.categorical": lambda size: {
        "each sentence's next token, as Llama 2": call(logits=fixed(size.images, vocabulary(size))),
        "20 distinct tokens of each sentence, as candidates of a beam": call(
            logits=fixed(size.images, vocabulary(size)), shape=(20, size.images), replace=False
        ),
        "an action of each game, as Atari's 18": call(logits=fixed(size.extent(1024), 18)),
    },
    "random.choice": lambda size: {
        "with replacement, as bootstraps: random indices": call(a=line(size)[0], shape=line(size)),
        "an epoch's order: each once": call(a=line(size)[0], shape=line(size), replace=False),
        "by weights, as prioritised replay: a cumulative sum, and a search each": call(
            a=line(size)[0], shape=(size.extent(256),), p=fixed(*line(size), fill=SIMPLEX)
        ),
        "few by weights, none twice: noise on logarithms, and the largest": call(
            **call(a=line(size)[0], shape=(size.extent(100),), replace=False),
            p=fixed(*line(size), fill=SIMPLEX),
        ),
    },
    "random.dirichlet": lambda size: {
        # Few: each number is a loop's turn, with events of its own under a profiler.
        "eight topics' shares in documents": call(
            alpha=tensor(COLOURS, fill=POSITIVE), shape=(size.extent(100),)
        ),
        "noise at the root of a search, as AlphaZero's of chess: a row for each game": call(
            alpha=tensor(size.extent(256), 35, fill=Fill("constant", 0.3))
        ),
    },
    "random.multinomial": lambda size: {
        why: call(n=n, p=fixed(COLOURS, fill=SIMPLEX), shape=(size.extent(1000), COLOURS))
        for n, why in (
            (1000.0, "a thousand votes on eight parties, as polls: binomial draws by rejection"),
            (20.0, "20 words of eight topics, as short texts: binomial draws by inversion"),
        )
    },
    "random.multivariate_normal": lambda size: {
        "eight correlated numbers, as shares' returns": call(
            mean=tensor(COLOURS),
            cov=tensor(COLOURS, COLOURS, fill=POSITIVE_DEFINITE),
            shape=line(size),
        ),
        "a Gaussian process's function at many points: a Cholesky factor": call(
            mean=tensor(size.extent(512)),
            cov=tensor(size.extent(512), size.extent(512), fill=POSITIVE_DEFINITE),
        ),
        "eight correlated numbers, by an SVD, as NumPy's": call(
            mean=fixed(COLOURS),
            cov=fixed(COLOURS, COLOURS, fill=POSITIVE_DEFINITE),
            shape=line(size),
            method="svd",
        ),
    },
    "random.orthogonal": lambda size: {
        "initial weights of a recurrent layer": call(n=size.extent(256), **IN_DTYPE),
        "rotations of molecules: many small matrices": call(n=3, shape=(size.extent(1000),)),
    },
    "random.permutation": lambda size: [
        {"x": size.extent(50_000), WHY: "the order of an epoch's samples, as CIFAR-10's"},
        {"x": size.extent(169_343), WHY: "a graph's nodes to sample, as those of ogbn-arxiv"},
        {"x": tensor(*square(size)), WHY: "a table's rows, as a data set before it is split"},
    ],
    "random.clone": lambda size: [{WHY: "a key that is used twice on purpose"}],
    "random.split": lambda size: [
        {WHY: "a key for the next step, and one to use"},
        {"num": size.extent(10_000), WHY: "a key of each sample, for a mapped function"},
    ],
    "random.fold_in": lambda size: {"a key of each step by its number": call(data=SEED)},
    "random.key_data": lambda size: [{WHY: "a key's bits, as a checkpoint stores them"}],
    "random.wrap_key_data": lambda size: [
        {"key_bits_array": fixed(*bits, fill=below(2**31), dtype="uint32"), WHY: why}
        for bits, why in (
            ((2,), "a key from the bits that a checkpoint has"),
            ((size.extent(10_000), 2), "keys of every sample from their bits"),
        )
    ],
    "random.key random.PRNGKey": lambda size: {"a program's first key": call(seed=SEED)},
}
"""Functions with inputs of their own. A seed is an array, lest it be a program's constant."""


add_rows(FAMILIES.add, OWN)
