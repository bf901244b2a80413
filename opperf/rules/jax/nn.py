"""Families of `jax.nn` and `jax.ops`, beside those of canonical operations."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Fill, Operator
from opperf.rules.bert import HEADS, WIDTH, few_sentences, scores, sentences, tokens
from opperf.rules.configurations import WHY
from opperf.rules.families.reductions import ATOMS, runs
from opperf.rules.pictures import channels_last, feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import DISPATCH, Shape, column, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    NORMAL,
    PADDED,
    POSITIVE,
    Arguments,
    below,
    between,
    fixed,
    literal,
    tensor,
)
from opperf.rules.variants import Variants, own

FAMILIES = Families()

INDEX = "int32"
"""Dtype of classes, lengths and segments."""

CLASSES = 1000
"""Classes of ImageNet."""

OF_ONE: dict[str, tuple[Fill, str]] = {
    "nn.log1mexp": (POSITIVE, "the logarithm of a probability's complement, as of survival"),
    "nn.sparse_plus": (NORMAL, "a loss of sparse predictions: a softplus that reaches zero"),
    "nn.sparse_sigmoid": (NORMAL, "sparse gates: a sigmoid that reaches zero and one"),
    "nn.squareplus": (NORMAL, "a positive width by a root, not an exponential, as of a density"),
}
"""Fills of functions of one tensor, each with why."""


@FAMILIES.add(*OF_ONE)
def of_one(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, a table of short rows, and few elements."""
    fill, why = next(OF_ONE[name] for name in operator.names if name in OF_ONE)
    for shape, text in (
        (square(size), why),
        (tall(size), "outputs of many samples, of a few features each: short rows"),
        (column(size), DISPATCH),
    ):
        yield {"x": tensor(*shape, fill=fill), WHY: text}


@FAMILIES.add("nn.standardize")
def standardize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors along each axis that networks normalise, and statistics that are known."""
    words = sentences(size)
    maps = channels_last(feature_maps(size))
    known: Arguments = {"mean": fixed(maps[-1]), "variance": fixed(maps[-1], fill=POSITIVE)}
    channels: Arguments = {"axis": (0, 1, 2)}
    kinds: tuple[tuple[str, Shape, Arguments], ...] = (
        ("BERT-base, token by token, before scale and shift", words, {"axis": -1}),
        ("each feature of a table over its samples", tall(size), {"axis": 0}),
        ("maps by channel over samples and pixels, channels last", maps, channels),
        (
            "maps by channel with running statistics, as a network that predicts",
            maps,
            {**channels, **known},
        ),
    )
    for why, shape, options in kinds:
        yield {"x": tensor(*shape), **options, WHY: why}


@FAMILIES.add("nn.logmeanexp")
def logmeanexp(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Logarithms of importance weights, along each axis and all."""
    shape = square(size)
    for axis, why in (
        (0, "over samples of each datum, as an importance-weighted autoencoder's bound"),
        (1, "over the members of an ensemble, whose densities are averaged: adjacent elements"),
        (None, "over all, as a partition function by sampling"),
    ):
        yield {"x": tensor(*shape), **({} if axis is None else {"axis": axis}), WHY: why}


@FAMILIES.also("nn.softmax")
def masked(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores with a mask of each sentence. Every row has elements that are not masked."""
    shape = scores(size)
    yield {
        "x": tensor(*shape),
        "where": fixed(shape[0], 1, 1, shape[-1], fill=PADDED, dtype="bool"),
        WHY: "BERT-base, scores of its heads, padding masked",
    }


@FAMILIES.also("nn.dot_product_attention")
def attention(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Lengths of texts and windows of neighbours, which JAX makes masks of."""
    batch, length = tokens(size)
    few = max(1, batch // 4)
    heads = tensor(few, length, HEADS, WIDTH)
    yield {
        **dict.fromkeys(("query", "key", "value"), heads),
        "key_value_seq_lengths": fixed(few, fill=below(length + 1, start=length // 2), dtype=INDEX),
        WHY: "BERT-base, padding by the lengths of sentences",
    }
    long = size.extent(1024, least=32)
    text, keys = tensor(1, long, 32, 128), tensor(1, long, 8, 128)
    yield {
        "query": text,
        "key": keys,
        "value": keys,
        "is_causal": True,
        "local_window_size": (long // 4, 0),
        WHY: "a window of a quarter of the text, four heads of queries to one of keys",
    }


@FAMILIES.add("nn.one_hot")
def one_hot(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Classes of samples, of tokens and of pixels."""
    for why, shape, classes in (
        (
            "labels of ImageNet, as a loss with smoothed labels takes them",
            column(size)[:1],
            CLASSES,
        ),
        ("the expert of each token, of eight, as a mixture of experts", tokens(size), 8),
        (
            "21 classes of each pixel, as Dice's loss",
            (size.samples(2), *feature_maps(size)[2:]),
            21,
        ),
    ):
        yield {
            "x": fixed(*shape, fill=below(classes), dtype=INDEX),
            "num_classes": classes,
            WHY: why,
        }


BLOCK = 32
"""Elements that share a scale in MXFP8."""


def scaled(size: Preset, block: int) -> Arguments:
    """Matrices with a scale of each block of a row."""
    rows, columns = square(size)
    blocks = max(1, columns // block)
    return {
        "lhs": tensor(1, rows, columns),
        "rhs": tensor(1, rows, columns),
        "lhs_scales": tensor(1, rows, blocks, fill=POSITIVE),
        "rhs_scales": tensor(1, rows, blocks, fill=POSITIVE),
    }


OWN: dict[str, Variants] = {
    "nn.scaled_matmul": lambda size: [
        {**scaled(size, BLOCK), WHY: "a scale to each 32 elements, as MXFP8's"},
        {**scaled(size, BLOCK // 2), WHY: "a scale to each 16 elements, as NVFP4's"},
    ],
    # It has no gradient.
    "lax.scaled_dot": lambda size: [
        {
            **{name: fixed(*square(size)) for name in ("lhs", "rhs")},
            **{
                name: fixed(square(size)[0], square(size)[1] // BLOCK, fill=POSITIVE)
                for name in ("lhs_scale", "rhs_scale")
            },
            "dimension_numbers": (((1,), (1,)), ((), ())),
            WHY: "rows by rows, a scale to each 32 elements, as MXFP8's",
        }
    ],
    "nn.scaled_dot_general": lambda size: [
        {
            "lhs": tensor(*few_sentences(size)),
            "rhs": tensor(few_sentences(size)[-1], few_sentences(size)[-1]),
            "dimension_numbers": (((2,), (0,)), ((), ())),
            WHY: "a projection of BERT-base's tokens, without block scales",
        },
    ],
}
"""Products of which each block has a scale."""


@FAMILIES.add(*OWN)
def scaled_product(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Matrices and their scales."""
    return own(OWN, operator, size)


SEGMENTS = 64
"""Segments that rows are spread over at random: so few that each has some."""


@FAMILIES.add("ops.segment_max", "ops.segment_min", "ops.segment_prod", "ops.segment_sum")
def segments(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Rows of a batch of graphs in order, and rows and numbers in any order."""
    # Near one, so that products stay within range.
    fill = between(0.9, 1.1) if operator.name.endswith("prod") else NORMAL
    lengths = runs(2 * size.extent(128), ATOMS)
    ids = [segment for segment, length in enumerate(lengths) for _ in range(length)]
    in_order: dict[str, Argument] = {
        "data": tensor(len(ids), 64, fill=fill),
        "segment_ids": fixed(len(ids), fill=literal(ids), dtype=INDEX),
        "num_segments": len(lengths),
    }
    yield {
        **in_order,
        "indices_are_sorted": True,
        WHY: "the atoms of each molecule to one row, as a graph network's readout: in order",
    }
    yield {**in_order, WHY: "the atoms of each molecule, which JAX is not to assume in order"}
    for shape, why in (
        ((size.extent(16384), 64), "messages along a graph's edges to their nodes: any order"),
        ((size.extent(65536),), "numbers by group, as a table's column: any order"),
    ):
        yield {
            "data": tensor(*shape, fill=fill),
            "segment_ids": fixed(shape[0], fill=below(SEGMENTS), dtype=INDEX),
            "num_segments": SEGMENTS,
            WHY: why,
        }
