"""Families of `jax.nn` and `jax.ops`, beside those of canonical operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from opperf.model import Argument, Fill, Operator, TensorSpec
from opperf.operations.uses import Array, Choice, Roles, Table, merge, use, uses
from opperf.rules.bert import HEADS, WIDTH, few_sentences, scores, sentences, tokens
from opperf.rules.configurations import WHY
from opperf.rules.families.reductions import ATOMS, runs
from opperf.rules.image_shapes import channels_last, feature_maps
from opperf.rules.jax.lax_elementwise import with_narrow_indices
from opperf.rules.jax.properties import INDEX
from opperf.rules.llama import feed_forward, prompt
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import FEW, Shape, square, tall, tiny
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    NORMAL,
    PADDED,
    POSITIVE,
    Arguments,
    below,
    between,
    call,
    fixed,
    literal,
    tensor,
)
from opperf.rules.variants import Variants, add_rows

X = "x"

SAME_NAME = (
    *("hard_sigmoid", "hard_tanh", "identity", "log_sigmoid", "mish", "relu", "relu6", "selu"),
    *("sigmoid", "silu", "softplus"),
)
RENAMED = {"hard_silu": "hard_swish", "soft_sign": "softsign"}
"""Operations of activations without parameters, or with their usual ones."""


def softmax_roles(x: Array, axis: int = -1, where: Any = None) -> dict[str, Any]:
    """Scores, of which those that are masked are infinitely low."""
    import numpy as np

    data = x if where is None else np.where(where, x, -np.inf)
    return {"data": data, "axis": axis, "temperature": 1.0}


def softmax_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The arguments of a softmax, which has no temperature and no lengths."""
    if not roles.keys() <= {"data", "axis"}:
        return None
    return {"x": roles["data"], "axis": roles["axis"]}


def heads_last(spec: Argument) -> Argument:
    """A tensor of (batch, heads, tokens, width) with the heads behind the tokens."""
    assert isinstance(spec, TensorSpec)
    batch, heads, tokens, width = spec.shape
    return msgspec.structs.replace(spec, shape=(batch, tokens, heads, width))


def attention_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """The arguments of attention: a mask of numbers is a bias."""
    mask = roles.get("mask")
    is_boolean = isinstance(mask, TensorSpec) and mask.dtype == "bool"
    names = {"mask": "mask" if is_boolean else "bias", "causal": "is_causal"}
    others = {name: value for name, value in roles.items() if name not in ATTENDED}
    return {
        **{name: heads_last(roles[name]) for name in ATTENDED},
        **{names.get(name, name): value for name, value in others.items()},
    }


ATTENDED = ("query", "key", "value")


def attention_roles(
    query: Array,
    key: Array,
    value: Array,
    bias: Any = None,
    mask: Any = None,
    is_causal: bool = False,
    scale: float | None = None,
    key_value_seq_lengths: Any = None,
    local_window_size: Any = None,
) -> dict[str, Any]:
    """The inputs of attention, with one mask in place of lengths and windows."""
    import numpy as np

    queries, keys = np.arange(query.shape[1])[:, None], np.arange(key.shape[1])
    if key_value_seq_lengths is not None:
        mask = keys < key_value_seq_lengths[:, None, None, None]
    if local_window_size is not None:
        before, after = local_window_size
        mask = (keys >= queries - before) & (keys <= queries + after)
    return {
        "query": query.swapaxes(1, 2),
        "key": key.swapaxes(1, 2),
        "value": value.swapaxes(1, 2),
        "mask": bias if mask is None else mask,
        "causal": is_causal,
        "scale": scale,
    }


def segment_roles(reduction: str) -> Any:
    """The conversion of rows and their segments to rows in the order of the segments."""

    def roles(
        data: Array, segment_ids: Array, num_segments: int, indices_are_sorted: bool = False
    ) -> dict[str, Any]:
        import numpy as np

        order = np.argsort(segment_ids, kind="stable")
        lengths = np.bincount(segment_ids, minlength=num_segments)
        return {"data": data[order], "lengths": lengths, "reduction": reduction}

    return roles


GELU = {None: use("gelu_tanh", X), False: use("gelu", "x -approximate")}

OPERATIONS: Table = merge(
    uses((*SAME_NAME, *RENAMED), X, "nn.{}", RENAMED),
    {
        "nn.celu": use("celu", "x slope=alpha"),
        "nn.dot_product_attention": use(
            "attention", attention_roles, lambda made, _: made.swapaxes(1, 2), attention_arguments
        ),
        "nn.elu": use("elu", "x slope=alpha"),
        # The default is the approximation.
        "nn.gelu": Choice("approximate", GELU),
        "nn.glu": use("glu", "x axis"),
        "nn.leaky_relu": use("leaky_relu", "x slope=negative_slope"),
        "nn.log_softmax": use("log_softmax", softmax_roles, to_arguments=softmax_arguments),
        "nn.logsumexp": use("logsumexp", "x=a axis keepdims"),
        "nn.one_hot": with_narrow_indices(use("one_hot", "indices=x depth=num_classes -dtype")),
        "nn.softmax": use("softmax", softmax_roles, to_arguments=softmax_arguments),
        **{
            f"ops.segment_{reduction}": use("segment_reduce", segment_roles(reduction))
            for reduction in ("max", "min", "prod", "sum")
        },
    },
)


FAMILIES = Families()

OF_ONE: dict[str, tuple[Fill, str]] = {
    "nn.log1mexp": (POSITIVE, "the logarithm of a probability's complement, such as survival"),
    "nn.sparse_plus": (NORMAL, "a loss of sparse predictions: a softplus that reaches zero"),
    "nn.sparse_sigmoid": (NORMAL, "sparse gates: a sigmoid that reaches zero and one"),
    "nn.squareplus": (NORMAL, "a density's positive width, by a root, not an exponential"),
}
"""Fills of functions of one tensor, each with why."""


@FAMILIES.add(*OF_ONE)
def of_one(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and few elements."""
    fill, why = next(OF_ONE[name] for name in operator.names if name in OF_ONE)
    yield {"x": tensor(*square(size), fill=fill), WHY: why}
    yield {"x": tensor(*tiny(size), fill=fill), **FEW}


@FAMILIES.add("nn.standardize")
def standardize(operator: Operator, size: Preset) -> Rows:
    """Tensors along each axis that networks normalise, and statistics that are known."""
    words = sentences(size)
    maps = channels_last(feature_maps(size))
    known: Arguments = {"mean": fixed(maps[-1]), "variance": fixed(maps[-1], fill=POSITIVE)}
    channels: Arguments = {"axis": (0, 1, 2)}
    kinds: tuple[tuple[str, Shape, Arguments], ...] = (
        ("BERT-base, token by token, before scale and shift", words, {"axis": -1}),
        ("each feature of a table over its samples", tall(size), {"axis": 0}),
        ("maps by channel over samples and pixels, channels last", maps, channels),
        ("maps by channel with running statistics, for prediction", maps, {**channels, **known}),
    )
    return {why: call(x=tensor(*shape), **options) for why, shape, options in kinds}


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
def masked(operator: Operator, size: Preset) -> Rows:
    """Scores with a mask of each sentence. Every row has elements that are not masked."""
    shape = scores(size)
    there = fixed(shape[0], 1, 1, shape[-1], fill=PADDED, dtype="bool")
    return {"BERT-base, scores of its heads, padding masked": call(x=tensor(*shape), where=there)}


@FAMILIES.also("nn.dot_product_attention")
def attention(operator: Operator, size: Preset) -> Rows:
    """Lengths of texts and windows of neighbours, which JAX makes masks of."""
    batch, count = tokens(size)
    few = max(1, batch // 4)
    heads = tensor(few, count, HEADS, WIDTH)
    long = size.extent(1024, least=32)
    text, keys = tensor(1, long, 32, 128), tensor(1, long, 8, 128)
    return {
        "BERT-base, padding by the lengths of sentences": call(
            **dict.fromkeys(("query", "key", "value"), heads),
            key_value_seq_lengths=fixed(few, fill=below(count + 1, start=count // 2), dtype=INDEX),
        ),
        "Mistral 7B's heads, 32 to 8 of keys: 1024 tokens, a window of 256 before each": call(
            query=text, key=keys, value=keys, is_causal=True, local_window_size=(long // 4, 0)
        ),
    }


BLOCK = 32
"""Elements that share a scale in MXFP8."""


def scaled(size: Preset, form: str, block: int, scale: str) -> Arguments:
    """Matrices of a form of few bits, with a scale of each block of a row."""
    rows, (columns, outputs) = prompt(size), feed_forward(size)
    return {
        "lhs": fixed(1, rows, columns, dtype=form),
        "rhs": fixed(1, outputs, columns, dtype=form),
        "lhs_scales": fixed(1, rows, columns // block, fill=POSITIVE, dtype=scale),
        "rhs_scales": fixed(1, outputs, columns // block, fill=POSITIVE, dtype=scale),
    }


FORMS = (
    ("float8_e4m3fn", BLOCK, "float8_e8m0fnu", "MXFP8, a power of two to each 32 elements"),
    ("float4_e2m1fn", BLOCK // 2, "float8_e4m3fn", "NVFP4, a scale in fp8 to each 16 elements"),
)
"""Dtypes of elements and of scales, and how many of the one share one of the other."""


OWN: dict[str, Variants] = {
    "nn.scaled_matmul": lambda size: {
        f"Llama 3 8B, feed-forward block, reading: {what}": call(**scaled(size, form, block, scale))
        for form, block, scale, what in FORMS
    },
    # It has no gradient.
    "lax.scaled_dot": lambda size: {
        "rows by rows, a scale to each 32 elements, as MXFP8's": call(
            **{name: fixed(*square(size)) for name in ("lhs", "rhs")},
            **{
                name: fixed(square(size)[0], square(size)[1] // BLOCK, fill=POSITIVE)
                for name in ("lhs_scale", "rhs_scale")
            },
            dimension_numbers=(((1,), (1,)), ((), ())),
        )
    },
    "nn.scaled_dot_general": lambda size: {
        "a projection of BERT-base's tokens, unscaled: block scales are for GPUs alone": call(
            lhs=tensor(*few_sentences(size)),
            rhs=tensor(few_sentences(size)[-1], few_sentences(size)[-1]),
            dimension_numbers=(((2,), (0,)), ((), ())),
        )
    },
}
"""Products of which each block has a scale."""
add_rows(FAMILIES.add, OWN)


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
    yield {**in_order, "indices_are_sorted": True, WHY: "each molecule's atoms to a row: in order"}
    yield {**in_order, WHY: "the atoms of each molecule, which JAX is not to assume in order"}
    edges = size.extent(16384)
    for shape, groups, why in (
        ((edges, 64), edges // 16, "messages along a graph's edges to their nodes: any order"),
        ((size.extent(65536),), SEGMENTS, "numbers by group, as a table's column: any order"),
    ):
        yield {
            "data": tensor(*shape, fill=fill),
            "segment_ids": fixed(shape[0], fill=below(groups), dtype=INDEX),
            "num_segments": groups,
            WHY: why,
        }
