"""Families of PyTorch's operators that draw random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opperf.model import Argument, Generator, TensorSpec
from opperf.operations.uses import Choice, Table, Use, use
from opperf.rules.bert import few_sentences, tokens
from opperf.rules.configurations import DTYPE, OUTSIDE, TAGS, WHY
from opperf.rules.image_shapes import CLASSES
from opperf.rules.registering import Families
from opperf.rules.shapes import FEW, Shape, square, tiny
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    POSITIVE,
    PROBABILITY,
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

DRAWN = "-size -dtype -generator -device -memory_format"
"""Arguments that do not affect the distribution, in the text of a use."""


def like(operation: str, roles: str = "", **constants: Any) -> Use:
    """The use of a distribution, of whose tensor only the shape counts."""
    return use(f"random_{operation}", f"{roles} -self {DRAWN}", **constants)


def _exponential_roles(lambd: float = 1.0, **other: Any) -> dict[str, Any]:
    assert other.keys() <= {"self"}
    return {"scale": 1 / lambd}


def _cauchy_roles(**arguments: Any) -> dict[str, Any]:
    assert arguments.keys() <= {"self"}
    return {}


EXACT = 2**24
"""The largest integer up to which single precision has all, which `random` draws up to."""


def _permutation_roles(n: int, **other: Any) -> dict[str, Any]:
    import numpy as np

    return {"data": np.arange(n)}


UNIFORM = "random_uniform_integer"
NORMAL = like("normal", loc=0.0, scale=1.0)
UNIT = like("uniform", low=0.0, high=1.0)

OPERATIONS: Table = {
    "bernoulli": use("random_binomial", "p=self -generator", n=1),
    "bernoulli.Tensor": like("binomial", "p", n=1),
    "bernoulli.p": like("binomial", "p", n=1),
    "binomial": use("random_binomial", "n=count p=prob -generator"),
    "cauchy": use("random_cauchy", _cauchy_roles),
    "exponential": use("random_exponential", _exponential_roles),
    "geometric": like("geometric", "p"),
    "log_normal": like("log_normal", "mean sigma=std"),
    "multinomial": Choice(
        "replacement",
        {
            None: use("random_distinct_categories", "probabilities=self count=num_samples"),
            True: use("random_categorical", "probabilities=self -num_samples -replacement"),
        },
    ),
    "normal": use("random_normal", lambda mean, std=1.0, **other: {"loc": mean, "scale": std}),
    "normal_functional": like("normal", "loc=mean scale=std"),
    "poisson": use("random_poisson", "rate=self -generator"),
    "rand": UNIT,
    "rand_like": UNIT,
    "randint": like("uniform_integer", "low high", low=0),
    "randint.low": like("uniform_integer", "low high"),
    "randint.low_generator": like("uniform_integer", "low high"),
    "randint_like": use(UNIFORM, lambda high, low=0, **other: {"low": low, "high": int(high)}),
    "randn": NORMAL,
    "randn_like": NORMAL,
    "random": use(UNIFORM, lambda to=EXACT + 1, **other: {"low": other.get("from", 0), "high": to}),
    "randperm": use("shuffle", _permutation_roles),
    "uniform": like("uniform", "low=from high=to"),
}


FAMILIES = Families()

WHOLE = "int64"
"""Dtype of labels and indices."""

GENERATOR = {"generator": Generator(0)}

LABELS = "labels at random"
FROM_ONE = "labels at random, from 1 on: without the background's 0"
UNITS_CLEARED = "numbers that decide which units dropout clears"
GPT2: Arguments = {"mean": 0.0, "std": 0.02, WHY: "initial weights of GPT-2", TAGS: (OUTSIDE,)}

PARAMETERS: dict[str, Arguments] = {
    "bernoulli.p": {"p": 0.9, WHY: "units that dropout keeps, nine of ten"},
    "cauchy": {WHY: "heavy-tailed numbers, by a tangent each, as jumps of annealing"},
    "exponential": {WHY: "by inversion: a logarithm each, as times between events"},
    "geometric": {"p": 0.2, WHY: "lengths of the spans that SpanBERT masks"},
    "log_normal": {"mean": -1.2, "std": 1.2, WHY: "sizes of claims, in a simulation of many years"},
    **dict.fromkeys(("normal_functional", "normal_"), GPT2),
    "rand_like": {WHY: UNITS_CLEARED},
    "randn_like": {WHY: "noise that a diffusion model learns to predict"},
    "randint_like": {"high": CLASSES, WHY: f"{LABELS}, below the number of classes"},
    "randint_like.Tensor": {
        "high": fixed(fill=literal(CLASSES), dtype=WHOLE),
        WHY: f"{LABELS}, below a number of classes that is a tensor",
    },
    "randint_like.low_dtype": {"low": 1, "high": CLASSES, WHY: FROM_ONE},
    "random": {WHY: "integers of any size that the dtype has, as test data"},
    "random.from": {"from": 1, "to": CLASSES, WHY: "integers between two bounds, as labels"},
    "random.to": {"to": CLASSES, WHY: "integers below a limit, as labels"},
    "uniform": {"from": -0.05, "to": 0.05, WHY: "initial weights, as Glorot's and Kaiming's"},
}
"""Parameters of operators that draw a tensor like another, each with why."""

SIZES: dict[str, Arguments] = {
    "rand": {WHY: UNITS_CLEARED},
    "randint": {"high": CLASSES, "dtype": WHOLE, WHY: LABELS},
    "randint.low": {"low": 1, "high": CLASSES, "dtype": WHOLE, WHY: FROM_ONE},
    "randn": {WHY: "noise, as a diffusion model begins with"},
    "normal.float_float": GPT2,
}
"""Parameters of operators that draw a tensor of a shape."""

SAME_AS = {
    **{f"{name}.generator": name for name in ("rand_like", "randint_like", "randn_like")},
    **{f"{name}.generator": name for name in ("rand", "randint", "randn")},
    "randint_like.Tensor_generator": "randint_like.Tensor",
    "randint_like.low_generator_dtype": "randint_like.low_dtype",
    "randint.low_generator": "randint.low",
}
"""Overloads that take a generator, and those that are the same without one."""


def and_by_generator(table: dict[str, Arguments]) -> dict[str, Arguments]:
    """The table, and its rows of overloads that take a generator."""
    return table | {
        name: {**row, **GENERATOR, WHY: f"{row[WHY]}, by a generator of the program's own"}
        for name, base in SAME_AS.items()
        if (row := table.get(base))
    }


def draws(row: Arguments, shaped: Callable[..., Arguments]) -> Variants:
    """The parameters of a distribution, with shapes of draws or tensors of these shapes."""
    return lambda size: [{**row, **shaped(*square(size))}, {**row, **shaped(*tiny(size)), **FEW}]


def tensor_like(name: str) -> Callable[..., Arguments]:
    """The family of tensors that are drawn into or like: of integers where only those are."""
    if name.startswith(("random.", "randint")):
        return lambda *shape: {"self": fixed(*shape, dtype=WHOLE)}
    return lambda *shape: {"self": tensor(*shape)}


LIKE = and_by_generator(PARAMETERS)
OF_SIZES = and_by_generator(SIZES)
add_rows(
    FAMILIES.add,
    {name: draws(row, tensor_like(name)) for name, row in LIKE.items()}
    | {name: draws(row, lambda *shape: {"size": shape}) for name, row in OF_SIZES.items()},
)


def permutations(**values: Argument) -> Variants:
    """The configurations of a permutation, of the samples of an epoch."""
    own_generator = ", by a generator of the program's own" if values else ""
    return lambda size: {
        f"the order of {what}{own_generator}": call(n=count, dtype=WHOLE, **values)
        for count, what in (
            (size.extent(1_281_167), "an epoch's samples, as many as ImageNet has"),
            (size.extent(50_000), "an epoch's samples, as many as CIFAR-10 has"),
        )
    }


def few(size: Preset) -> Shape:
    """Shape of a matrix of fewer draws, for distributions that take long for each."""
    return (size.extent(256), 128)


def _categories(size: Preset) -> TensorSpec:
    return fixed(size.images, size.extent(32_000), fill=SIMPLEX)


OWN: dict[str, Variants] = {
    "bernoulli": lambda size: {
        "a Boltzmann machine's units": call(self=tensor(*few_sentences(size), fill=PROBABILITY)),
        "tokens to mask, some 15 of 100, as BERT's are chosen": call(
            self=tensor(*tokens(size), fill=between(0.1, 0.2)), **{TAGS: (OUTSIDE,)}
        ),
    },
    "bernoulli.Tensor": lambda size: {
        "gates by their own probabilities, such as units to prune": call(
            self=tensor(*square(size)), p=tensor(*square(size), fill=PROBABILITY)
        )
    },
    "binomial": lambda size: {
        "successes of some tens of trials: by rejection, as buyers among visitors": call(
            count=fixed(*few(size), fill=below(41, start=10)),
            prob=fixed(*few(size), fill=PROBABILITY),
        ),
        "successes of few trials: by geometric draws, as alleles of a genotype": call(
            count=fixed(*few(size), fill=below(10, start=1)),
            prob=fixed(*few(size), fill=between(0.1, 0.5)),
        ),
    },
    "multinomial": lambda size: {
        "the next token of each sentence, by Llama 2": call(self=_categories(size), num_samples=1),
        "20 distinct tokens each, for a beam search": call(self=_categories(size), num_samples=20),
        "negative samples of each sentence by frequency, as word2vec's": call(
            self=_categories(size), num_samples=size.extent(1024), replacement=True
        ),
    },
    "normal.Tensor_Tensor": lambda size: {
        "an autoencoder's latent numbers, by their own means and deviations": call(
            mean=tensor(*square(size)), std=tensor(*square(size), fill=POSITIVE)
        )
    },
    "normal.Tensor_float": lambda size: {
        "noise about data, as denoising autoencoders have it": call(
            mean=tensor(*square(size)), std=0.1
        )
    },
    "normal.float_Tensor": lambda size: {
        "a VAE's noise, by deviations": call(mean=0.0, std=tensor(*square(size), fill=POSITIVE))
    },
    "poisson": lambda size: {
        "photons of dark pixels: products": call(self=tensor(*few(size), fill=between(0.5, 8.0))),
        "photons of bright pixels": call(self=tensor(*few(size), fill=between(20.0, 200.0))),
    },
    "randperm": permutations(),
    "randperm.generator": permutations(**GENERATOR),
}

add_rows(FAMILIES.add, OWN)


FURTHER: dict[str, Variants] = {
    "randn_like": lambda size: {
        "noise that Stable Diffusion learns to predict: its latents, in bfloat16": call(
            self=fixed(size.images, 4, size.side(64), size.side(64)), **{DTYPE: "bfloat16"}
        )
    },
    "exponential": lambda size: {
        "noise that samples Llama 3's next token without a cumulative sum, as gpt-fast": call(
            self=fixed(1, size.extent(128_256))
        )
    },
}
add_rows(FAMILIES.also, FURTHER)
