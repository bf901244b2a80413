"""Further inputs of JAX's functions as today's language and image models have them: large products,
rotary embeddings, writes to caches of keys, and the layers of Stable Diffusion."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import DTYPE, WHY
from opperf.rules.diffusion import layers
from opperf.rules.llama import HALF, HEADS, KEYS, WIDTH, feed_forward, prompt, steps
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, donated, fixed, literal, tensor

FAMILIES = Families()


@FAMILIES.also("jnp.matmul", "lax.dot_general")
def products(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tokens by a layer's weights."""
    first, second = [one.name for one in operator.tensors][:2]
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
    first, second = [one.name for one in operator.tensors][:2]
    yield {
        first: tensor(1, prompt(size), HEADS, WIDTH),
        second: fixed(1, prompt(size), 1, WIDTH),
        DTYPE: HALF,
        WHY: f"{ROTARY}: by cosines that all heads share",
    }


@FAMILIES.also("lax.dynamic_update_slice")
def to_cache(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Keys to the first half of a cache."""
    place = fixed(fill=literal(0), dtype="int32")
    yield {
        "operand": donated(1, 2 * prompt(size), KEYS, WIDTH),
        "update": fixed(1, prompt(size), KEYS, WIDTH),
        "start_indices": (place,) * 4,
        DTYPE: HALF,
        WHY: "Llama 3 8B, the keys of 2048 tokens to a cache of 4096, donated",
    }


@FAMILIES.also("lax.conv_general_dilated")
def diffusion(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of 3 x 3."""
    for one in layers(size):
        made: Arguments = {"lhs": one.maps, "rhs": one.weight, "window_strides": (1, 1)}
        yield {**made, "padding": ((1, 1), (1, 1)), **one.notes}
