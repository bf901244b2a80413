"""Further inputs of JAX's functions as today's language and image models have them: large products,
rotary embeddings, writes to caches of keys, and the layers of Stable Diffusion."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Operator, TensorSpec
from opperf.rules.bert import layer_width
from opperf.rules.configurations import DTYPE, WHY
from opperf.rules.image_shapes import layers
from opperf.rules.jax.properties import INDEX, body
from opperf.rules.llama import HALF, HEADS, KEYS, WIDTH, WORDS, feed_forward, prompt, steps
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    NORMAL,
    SIMPLEX,
    Arguments,
    below,
    between,
    call,
    donated,
    fixed,
    literal,
    tensor,
    tensors,
)
from opperf.rules.variants import Row, Variants, add_rows

FAMILIES = Families()

GATE = between(0.9, 0.999)
"""RecurrentGemma's gates as they are initialised."""


@FAMILIES.also("jnp.matmul", "lax.dot_general")
def products(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tokens by a layer's weights."""
    first, second = [parameter.name for parameter in operator.tensors][:2]
    inputs, outputs = feed_forward(size)
    for tokens, why in steps(size):
        # A step of generation has no gradient.
        array = fixed if tokens == 1 else tensor
        made: Arguments = {first: array(tokens, inputs), second: array(inputs, outputs)}
        dimensions = operator.parameter("dimension_numbers")
        if dimensions is not None and dimensions.required:
            # Before JAX 0.6.1, which takes it for a product of matrices without.
            made[dimensions.name] = (((1,), (0,)), ((), ()))
        yield {**made, DTYPE: HALF, WHY: why}


def half(why: str, **arguments: Argument) -> Arguments:
    """A row in half precision."""
    return {**arguments, DTYPE: HALF, WHY: why}


def attention(size: Preset) -> Iterable[Arguments]:
    """A prompt, of which JAX has all scores in memory; and texts by caches, partly filled."""
    # Without a gradient, which takes as long again and 3 GB: training splits its attention.
    keys = fixed(1, prompt(size), KEYS, WIDTH)
    why = "Llama 3 8B reading 2048 tokens, causal, four heads of queries to one of keys"
    queries = fixed(1, prompt(size), HEADS, WIDTH)
    yield half(why, query=queries, key=keys, value=keys, is_causal=True)
    texts, kept = size.samples(4), size.extent(8192, least=64)
    cache = fixed(texts, kept, KEYS, WIDTH)
    lengths = fixed(texts, fill=below(kept + 1, start=kept // 2), dtype=INDEX)
    why = "Llama 3 8B generating for four texts, by caches of 8192 keys of which half are full"
    made = half(why, query=fixed(texts, 1, HEADS, WIDTH), key=cache, value=cache)
    yield {**made, "key_value_seq_lengths": lengths}


def logits(size: Preset) -> TensorSpec:
    """Of the next token of each of several texts, in the vocabulary of Llama 3."""
    return fixed(size.images, size.extent(WORDS))


def probabilities(size: Preset) -> TensorSpec:
    """Of each token of a vocabulary."""
    return fixed(*logits(size).shape, fill=SIMPLEX, dtype="float32")


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
        why = f"{model} generating {tokens} tokens, each through {chosen} of {count} experts"
        groups = fixed(count, fill=literal(routed(rows, count)), dtype=INDEX)
        lhs, rhs = fixed(rows, narrow), fixed(count, narrow, wide)
        yield half(why, lhs=lhs, rhs=rhs, group_sizes=groups)


ROTARY = "Llama 3 8B, rotary embedding of 2048 tokens"


@FAMILIES.also("lax.conv_general_dilated")
def diffusion(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of 3 x 3."""
    for layer in layers(size):
        made: Arguments = {"lhs": layer.maps, "rhs": layer.weight, "window_strides": (1, 1)}
        yield {**made, "padding": ((1, 1), (1, 1)), **layer.notes}


BEST = "Llama 3, the best 50 of 128,256 tokens for each of eight texts"
SORTED = "Llama 3, all 128,256 tokens of each of eight texts in order, for top-p sampling"
SUMMED = "Llama 3, probabilities of 128,256 tokens summed up, for top-p sampling"
GREEDY = "Llama 3, the best of 128,256 tokens for each of eight texts, greedily"
LARGEST = "Llama 3, the largest of 128,256 logits for each of eight texts, before a softmax"
RECURRENT = "a linear recurrence over 2048 tokens"


def recurrence(size: Preset) -> Iterable[Arguments]:
    """A loop over tokens of little work in each step."""
    made = call(f=body("decayed_sum"), init=tensor(1, 1024), xs=tensor(prompt(size), 1, 1024))
    yield {**made, WHY: f"{RECURRENT}, a step each: bound by the loop"}
    yield {**made, "unroll": 4, WHY: f"{RECURRENT}, four steps of the loop written out"}
    yield half(f"{RECURRENT} in bfloat16: on a CPU, XLA converts all of them in each step", **made)


ROWS: dict[str, Row | Variants] = {
    "nn.dot_product_attention": attention,
    "jnp.top_k": lambda size: half(BEST, a=logits(size), k=50),
    "lax.top_k lax.approx_max_k": lambda size: half(BEST, operand=logits(size), k=50),
    "jnp.sort": lambda size: half(SORTED, a=logits(size), axis=1),
    "lax.sort": lambda size: half(SORTED, operand=logits(size), dimension=1),
    "jnp.cumsum": lambda size: {SUMMED: call(a=probabilities(size), axis=1)},
    "lax.cumsum": lambda size: {SUMMED: call(operand=probabilities(size), axis=1)},
    "random.categorical": lambda size: half(
        "Llama 3, the next token of each of eight texts, by logits of 128,256", logits=logits(size)
    ),
    "jnp.concatenate": lambda size: half(
        f"{ROTARY}: the halves of each head exchanged",
        arrays=(tensor(1, prompt(size), HEADS, WIDTH // 2),) * 2,
        axis=-1,
    ),
    "jnp.multiply": lambda size: half(
        f"{ROTARY}: by cosines that all heads share",
        x=tensor(1, prompt(size), HEADS, WIDTH),
        y=fixed(1, prompt(size), 1, WIDTH),
    ),
    "jnp.argmax": lambda size: half(GREEDY, a=logits(size), axis=-1),
    "lax.argmax": lambda size: half(GREEDY, operand=logits(size), axis=1, index_dtype=INDEX),
    "jnp.max": lambda size: half(LARGEST, a=logits(size), axis=-1, keepdims=True),
    "lax.reduce_max": lambda size: half(LARGEST, operand=logits(size), axes=(1,)),
    "lax.scan": recurrence,
    # The model converts to single precision before.
    "lax.associative_scan": lambda size: {
        "RecurrentGemma 2B's recurrence h = a h + b over 2048 tokens, in parallel": call(
            fn=body("linear_recurrence"),
            elems=tensors([tensor(1, prompt(size), 2560, fill=fill) for fill in (GATE, NORMAL)]),
            axis=1,
        )
    },
    "lax.dynamic_update_slice": lambda size: half(
        "Llama 3 8B, the keys of 2048 tokens to a cache of 4096, donated",
        operand=donated(1, 2 * prompt(size), KEYS, WIDTH),
        update=fixed(1, prompt(size), KEYS, WIDTH),
        start_indices=(fixed(fill=literal(0), dtype=INDEX),) * 4,
    ),
}
add_rows(FAMILIES.also, ROWS)
