"""Families of PyTorch's operators that draw random numbers."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Generator, Operator
from opperf.rules.bert import few_sentences, tokens
from opperf.rules.configurations import WHY
from opperf.rules.pictures import feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import DISPATCH, Shape, column, square
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    POSITIVE,
    PROBABILITY,
    SIMPLEX,
    Arguments,
    below,
    between,
    fixed,
    literal,
    tensor,
)
from opperf.rules.variants import Variants, own

FAMILIES = Families()

WHOLE = "int64"
"""Dtype of labels and indices."""

CLASSES = 1000
"""Classes of ImageNet."""

GENERATOR = {"generator": Generator(0)}

PARAMETERS: dict[str, dict[str, Argument]] = {
    "bernoulli.p": {"p": 0.9, WHY: "units that dropout keeps, nine of ten"},
    "cauchy": {WHY: "heavy-tailed numbers, by a tangent each, as jumps of annealing"},
    "exponential": {WHY: "noise by which a token is sampled without a cumulative sum, as gpt-fast"},
    "geometric": {"p": 0.2, WHY: "lengths of the spans that SpanBERT masks"},
    "log_normal": {
        "mean": -1.2,
        "std": 1.2,
        WHY: "levels of noise to train at, as of EDM's diffusion models",
    },
    **dict.fromkeys(
        ("normal_functional", "normal_"),
        {"mean": 0.0, "std": 0.02, WHY: "initial weights of GPT-2"},
    ),
    "rand_like": {WHY: "numbers that decide which units dropout clears"},
    "randn_like": {WHY: "noise of a diffusion model, in the shape of its pictures"},
    "randint_like": {"high": CLASSES, WHY: "labels at random, below the number of classes"},
    "randint_like.Tensor": {
        "high": fixed(fill=literal(CLASSES), dtype=WHOLE),
        WHY: "labels at random, below a number of classes that is a tensor",
    },
    "randint_like.low_dtype": {
        "low": 1,
        "high": CLASSES,
        WHY: "steps of a diffusion model, from the first one on",
    },
    "random": {WHY: "whole numbers of any size that the dtype has, as test data"},
    "random.from": {"from": 1, "to": CLASSES, WHY: "whole numbers between two, as labels"},
    "random.to": {"to": CLASSES, WHY: "whole numbers below a limit, as labels"},
    "uniform": {
        "from": -0.05,
        "to": 0.05,
        WHY: "initial weights between two bounds, as Glorot's and Kaiming's",
    },
}
"""Parameters of operators that draw a tensor like another, each with why."""

SAME_AS = {
    "rand_like.generator": "rand_like",
    "randint_like.Tensor_generator": "randint_like.Tensor",
    "randint_like.generator": "randint_like",
    "randint_like.low_generator_dtype": "randint_like.low_dtype",
    "randn_like.generator": "randn_like",
}
"""Overloads that take a generator, and those that are the same without one."""


def with_generator(values: dict[str, Argument]) -> dict[str, Argument]:
    """The values, a generator, and why."""
    return {**values, **GENERATOR, WHY: f"{values[WHY]}, by a generator of the program's own"}


LIKE = {
    **PARAMETERS,
    **{name: with_generator(PARAMETERS[base]) for name, base in SAME_AS.items()},
}


@FAMILIES.add(*LIKE)
def draw_like(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution, and tensors of the shape of the draws."""
    values = next(LIKE[name] for name in operator.names if name in LIKE)
    yield {"self": tensor(*square(size)), **values}
    yield {**values, "self": tensor(*column(size)), WHY: DISPATCH}


SIZES: dict[str, dict[str, Argument]] = {
    "rand": {WHY: "numbers that decide which units dropout clears"},
    "randint": {"high": CLASSES, "dtype": WHOLE, WHY: "labels at random"},
    "randint.low": {
        "low": 1,
        "high": CLASSES,
        "dtype": WHOLE,
        WHY: "steps of a diffusion model, from the first one on",
    },
    "randn": {WHY: "noise, as a diffusion model begins with"},
    "normal.float_float": {"mean": 0.0, "std": 0.02, WHY: "initial weights of GPT-2"},
}
"""Parameters of operators that draw a tensor of a shape."""

OF_SIZES = {
    **SIZES,
    **{
        name: with_generator(SIZES[base])
        for name, base in {
            "rand.generator": "rand",
            "randint.generator": "randint",
            "randint.low_generator": "randint.low",
            "randn.generator": "randn",
        }.items()
    },
}


@FAMILIES.add(*OF_SIZES)
def draw(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters of a distribution, and shapes of draws."""
    values = next(OF_SIZES[name] for name in operator.names if name in OF_SIZES)
    yield {"size": square(size), **values}
    yield {**values, "size": column(size), WHY: DISPATCH}


def permutations(**values: Argument) -> Variants:
    """The configurations of a permutation: of an epoch's samples, and of a batch's."""
    own_generator = ", by a generator of the program's own" if values else ""
    return lambda size: [
        {
            "n": count,
            "dtype": WHOLE,
            **values,
            WHY: f"the order of {what}{own_generator}",
        }
        for count, what in (
            (size.extent(1_281_167), "an epoch's samples, as many as ImageNet has"),
            (size.extent(50_000), "an epoch's samples, as many as CIFAR-10 has"),
        )
    ]


def few(size: Preset) -> Shape:
    """Shape of a matrix of fewer draws, for distributions that take long for each."""
    return (size.extent(256), 128)


def vocabulary(size: Preset) -> int:
    """The number of tokens of Llama 2's vocabulary."""
    return size.extent(32_000)


OWN: dict[str, Variants] = {
    "bernoulli": lambda size: [
        {
            "self": tensor(*few_sentences(size), fill=PROBABILITY),
            WHY: "latent units by their probabilities, as of a restricted Boltzmann machine",
        },
        {
            "self": tensor(*tokens(size), fill=between(0.1, 0.2)),
            WHY: "tokens to mask, some 15 of 100, as BERT's are chosen",
        },
    ],
    "bernoulli.Tensor": lambda size: [
        {
            "self": tensor(*square(size)),
            "p": tensor(*square(size), fill=PROBABILITY),
            WHY: "gates by their own probabilities, as of units to prune",
        }
    ],
    "binomial": lambda size: [
        {
            "count": fixed(*few(size), fill=below(41, start=10)),
            "prob": fixed(*few(size), fill=PROBABILITY),
            WHY: "successes of some tens of trials: by rejection, as buyers among visitors",
        },
        {
            "count": fixed(*few(size), fill=below(10, start=1)),
            "prob": fixed(*few(size), fill=between(0.1, 0.5)),
            WHY: "successes of few trials: by geometric draws, as alleles of a genotype",
        },
    ],
    "multinomial": lambda size: [
        {
            "self": fixed(size.pictures, vocabulary(size), fill=SIMPLEX),
            "num_samples": 1,
            WHY: "the next token of each sentence, by Llama 2's probabilities",
        },
        {
            "self": fixed(size.pictures, vocabulary(size), fill=SIMPLEX),
            "num_samples": 20,
            WHY: "20 distinct tokens of each sentence, as candidates of a beam",
        },
        {
            "self": fixed(size.pictures, vocabulary(size), fill=SIMPLEX),
            "num_samples": size.extent(1024),
            "replacement": True,
            WHY: "negative samples of each sentence by frequency, as word2vec's",
        },
    ],
    "normal.Tensor_Tensor": lambda size: [
        {
            "mean": tensor(*square(size)),
            "std": tensor(*square(size), fill=POSITIVE),
            WHY: "latent numbers by their own means and deviations, as of an autoencoder",
        }
    ],
    "normal.Tensor_float": lambda size: [
        {
            "mean": tensor(*square(size)),
            "std": 0.1,
            WHY: "noise around an agent's actions, as in policy gradients",
        }
    ],
    "normal.float_Tensor": lambda size: [
        {
            "mean": 0.0,
            "std": tensor(*square(size), fill=POSITIVE),
            WHY: "noise at a level of each element's own, as a variational autoencoder's",
        }
    ],
    "poisson": lambda size: [
        {
            "self": tensor(*few(size), fill=between(0.5, 8.0)),
            WHY: "means below 10: products of uniform numbers, as photons of dark pixels",
        },
        {
            "self": tensor(*few(size), fill=between(20.0, 200.0)),
            WHY: "means above 10: by rejection, as photons of bright pixels",
        },
    ],
    "randperm": permutations(),
    "randperm.generator": permutations(**GENERATOR),
}
"""Operators with inputs of their own."""


@FAMILIES.add(*OWN)
def draw_by(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Parameters as tensors, and numbers to permute."""
    return own(OWN, operator, size)


@FAMILIES.also("rand_like", "randn_like")
def draw_maps(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps of the shape of the draws, in their order in memory."""
    why = "numbers in the shape of feature maps, with batch, channels and both axes"
    yield {"self": fixed(*feature_maps(size)), WHY: why}
