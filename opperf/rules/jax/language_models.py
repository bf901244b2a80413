"""Further inputs of JAX's functions as today's language and image models have them: large products,
rotary embeddings, writes to caches of keys, and the layers of Stable Diffusion."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opperf.model import Operator, TensorSpec
from opperf.rules.bert import layer_width
from opperf.rules.configurations import DTYPE, WHY
from opperf.rules.image_shapes import layers
from opperf.rules.jax.properties import body
from opperf.rules.llama import HALF, HEADS, KEYS, WIDTH, WORDS, feed_forward, prompt, steps
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    SIMPLEX,
    Arguments,
    below,
    between,
    donated,
    fixed,
    literal,
    tensor,
    tensors,
)
from opperf.rules.variants import Row, add_rows

FAMILIES = Families()

INDEX = "int32"
"""Dtype of lengths and of rows of experts."""


@FAMILIES.also("jnp.matmul", "lax.dot_general")
def products(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tokens by a layer's weights."""
    first, second = [parameter.name for parameter in operator.tensors][:2]
    inputs, outputs = feed_forward(size)
    for tokens, why in steps(size):
        made: Arguments = {first: tensor(tokens, inputs), second: tensor(inputs, outputs)}
        dimensions = operator.parameter("dimension_numbers")
        if dimensions is not None and dimensions.required:
            # Before JAX 0.6.1, which takes it for a product of matrices without.
            made[dimensions.name] = (((1,), (0,)), ((), ()))
        yield {**made, DTYPE: HALF, WHY: why}


@FAMILIES.also("nn.dot_product_attention")
def reading(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A prompt, of which JAX has all scores in memory."""
    tokens = prompt(size)
    # Without a gradient, which takes as long again and 3 GB: training splits its attention.
    keys = fixed(1, tokens, KEYS, WIDTH)
    yield {
        "query": fixed(1, tokens, HEADS, WIDTH),
        "key": keys,
        "value": keys,
        "is_causal": True,
        DTYPE: HALF,
        WHY: "Llama 3 8B reading 2048 tokens, causal, four heads of queries to one of keys",
    }


@FAMILIES.also("nn.dot_product_attention")
def generating(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One token of each of several texts, by a cache of keys of which each has filled a part."""
    texts, kept = size.samples(4), size.extent(8192, least=64)
    cache = fixed(texts, kept, KEYS, WIDTH)
    yield {
        "query": fixed(texts, 1, HEADS, WIDTH),
        "key": cache,
        "value": cache,
        "key_value_seq_lengths": fixed(texts, fill=below(kept + 1, start=kept // 2), dtype=INDEX),
        DTYPE: HALF,
        WHY: "Llama 3 8B generating for four texts, by caches of 8192 keys of which half are full",
    }


def logits(size: Preset, make: Callable[..., TensorSpec] = fixed) -> TensorSpec:
    """Of the next token of each of several texts, in the vocabulary of Llama 3."""
    return make(size.images, size.extent(WORDS))


@FAMILIES.also("jnp.top_k", "lax.top_k", "lax.approx_max_k")
def best(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The best 50 of a vocabulary."""
    why = "Llama 3, the best 50 of 128,256 tokens for each of eight texts"
    yield {operator.tensors[0].name: logits(size), "k": 50, DTYPE: HALF, WHY: why}


@FAMILIES.also("lax.sort", "jnp.sort")
def ordered(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """All of a vocabulary."""
    axis = "dimension" if operator.parameter("dimension") else "axis"
    why = "Llama 3, all 128,256 tokens of each of eight texts in order, for top-p sampling"
    made: Arguments = {operator.tensors[0].name: logits(size), axis: 1}
    yield {**made, DTYPE: HALF, WHY: why}


@FAMILIES.also("jnp.cumsum", "lax.cumsum")
def gathered(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Probabilities of a vocabulary, summed up to each."""
    probabilities = fixed(*logits(size).shape, fill=SIMPLEX, dtype="float32")
    why = "Llama 3, probabilities of 128,256 tokens summed up, for top-p sampling"
    yield {operator.tensors[0].name: probabilities, "axis": 1, WHY: why}


@FAMILIES.also("random.categorical")
def drawn(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A token of a vocabulary."""
    why = "Llama 3, the next token of each of eight texts, by logits of 128,256"
    yield {"logits": logits(size), DTYPE: HALF, WHY: why}


def routed(rows: int, experts: int) -> tuple[int, ...]:
    """Rows of each expert: as uneven as a router's, some with none, together all."""
    wanted = [(expert * 7) % 5 for expert in range(experts)]
    whole = sum(wanted)
    ends = [rows * sum(wanted[: expert + 1]) // whole for expert in range(experts)]
    return tuple(end - begin for begin, end in zip([0, *ends[:-1]], ends, strict=True))


@FAMILIES.also("lax.ragged_dot")
def experts(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Rows of the tokens that a step generates, sorted by expert, by each expert's weights: of
    Qwen3-30B-A3B (Qwen Team, 2025) and OLMoE-1B-7B (Muennighoff et al., 2024). No gradient: the
    weights are many times as large as the tokens."""
    for model, tokens, chosen, count, inputs, outputs in (
        ("Qwen3-30B-A3B", 16, 8, 128, 2048, 768),
        ("OLMoE-1B-7B", 8, 8, 64, 2048, 1024),
    ):
        narrow, wide = (layer_width(size, width) for width in (inputs, outputs))
        rows = tokens * chosen
        yield {
            "lhs": fixed(rows, narrow),
            "rhs": fixed(count, narrow, wide),
            "group_sizes": fixed(count, fill=literal(routed(rows, count)), dtype=INDEX),
            DTYPE: HALF,
            WHY: f"{model} generating {tokens} tokens, each through {chosen} of {count} experts",
        }


ROTARY = "Llama 3 8B, rotary embedding of 2048 tokens"


@FAMILIES.also("jnp.concatenate")
def turned(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The halves of each head's vector in the other order."""
    half = tensor(1, prompt(size), HEADS, WIDTH // 2)
    yield {
        "arrays": (half, half),
        "axis": -1,
        DTYPE: HALF,
        WHY: f"{ROTARY}: the halves of each head exchanged",
    }


@FAMILIES.also("jnp.multiply")
def by_cosines(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Queries by the cosine of each place, which all heads share."""
    first, second = [parameter.name for parameter in operator.tensors][:2]
    yield {
        first: tensor(1, prompt(size), HEADS, WIDTH),
        second: fixed(1, prompt(size), 1, WIDTH),
        DTYPE: HALF,
        WHY: f"{ROTARY}: by cosines that all heads share",
    }


@FAMILIES.also("lax.conv_general_dilated")
def diffusion(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of 3 x 3."""
    for layer in layers(size):
        made: Arguments = {"lhs": layer.maps, "rhs": layer.weight, "window_strides": (1, 1)}
        yield {**made, "padding": ((1, 1), (1, 1)), **layer.notes}


GREEDY = "Llama 3, the best of 128,256 tokens for each of eight texts, greedily"
LARGEST = "Llama 3, the largest of 128,256 logits for each of eight texts, before a softmax"

ROWS: dict[str, Row] = {
    "jnp.argmax": lambda size: {"a": logits(size), "axis": -1, DTYPE: HALF, WHY: GREEDY},
    "lax.argmax": lambda size: {
        "operand": logits(size),
        "axis": 1,
        "index_dtype": INDEX,
        DTYPE: HALF,
        WHY: GREEDY,
    },
    "jnp.max": lambda size: {
        "a": logits(size),
        "axis": -1,
        "keepdims": True,
        DTYPE: HALF,
        WHY: LARGEST,
    },
    "lax.reduce_max": lambda size: {
        "operand": logits(size),
        "axes": (1,),
        DTYPE: HALF,
        WHY: LARGEST,
    },
    "lax.scan": lambda size: {
        "f": body("decayed_sum"),
        "init": tensor(1, 1024),
        "xs": tensor(prompt(size), 1, 1024),
        DTYPE: HALF,
        WHY: "a linear recurrence over 2048 tokens, a step each: bound by the loop",
    },
    "lax.associative_scan": lambda size: {
        "fn": body("linear_recurrence"),
        "elems": tensors(
            [tensor(prompt(size), 1024, fill=between(0.8, 1.0)), tensor(prompt(size), 1024)]
        ),
        DTYPE: HALF,
        WHY: "RecurrentGemma's recurrence h = a h + b over 2048 tokens, in parallel",
    },
    "lax.dynamic_update_slice": lambda size: {
        "operand": donated(1, 2 * prompt(size), KEYS, WIDTH),
        "update": fixed(1, prompt(size), KEYS, WIDTH),
        "start_indices": (fixed(fill=literal(0), dtype="int32"),) * 4,
        DTYPE: HALF,
        WHY: "Llama 3 8B, the keys of 2048 tokens to a cache of 4096, donated",
    },
}
add_rows(FAMILIES.also, ROWS)
