"""Further inputs of PyTorch's operators as today's language models read and write with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from opperf.model import TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules import bert
from opperf.rules.configurations import DTYPE, FORM, TAGS, WHY
from opperf.rules.families.indexing import shuffled
from opperf.rules.llama import HALF, HEADS, KEYS, UNITS, WIDTH, feed_forward, prompt, steps
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.layers import OPERATIONS
from opperf.rules.torch.quantization import BLOCK, EIGHT, NIBBLES
from opperf.rules.torch.roles import by_role
from opperf.rules.values import POSITIVE, SEQUENCE, Arguments, call, fixed, tensor, transposed
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

IN_HALF: Arguments = {DTYPE: HALF}


@FAMILIES.also("scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu")
@by_role(OPERATIONS)
def projected(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Queries, keys and values as a projection leaves them, a token's heads next to each other."""
    batch, length = bert.tokens(size)
    dense = tensor(batch, bert.HEADS, length, bert.WIDTH)
    strides = (length * bert.HEADS * bert.WIDTH, bert.WIDTH, bert.HEADS * bert.WIDTH, 1)
    yield {
        **dict.fromkeys(("query", "key", "value"), msgspec.structs.replace(dense, strides=strides)),
        WHY: "BERT-base, the heads of a token next to each other in memory, as projections are",
    }


@FAMILIES.also("scaled_dot_product_attention")
@by_role(OPERATIONS)
def reading(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A prompt, each of whose tokens attends to those before it."""
    yield {
        "query": tensor(1, HEADS, prompt(size), WIDTH),
        **dict.fromkeys(("key", "value"), keys(size)),
        **{"causal": True, DTYPE: HALF},
        WHY: "Llama 3 8B reading 2048 tokens, causal, four heads of queries to one of keys",
    }


def queries(size: Preset, half: int | None = None) -> TensorSpec:
    """Queries as a projection leaves them, or a half of each head's vector."""
    tokens = prompt(size)
    shape = (1, HEADS, tokens, WIDTH if half is None else WIDTH // 2)
    offset = WIDTH // 2 * half if half else 0
    strides = (tokens * UNITS, WIDTH, UNITS, 1)
    return TensorSpec(shape, "", gradient=True, strides=strides, offset=offset)


ROTARY = "Llama 3 8B, rotary embedding of 2048 tokens"

CACHED = "Llama 3 8B, the keys of 2048 tokens to a cache of 4096"


def cache(size: Preset) -> TensorSpec:
    """Room for the keys of a text of twice the prompt's length."""
    return tensor(1, KEYS, 2 * prompt(size), WIDTH)


def keys(size: Preset) -> TensorSpec:
    """The prompt's."""
    return tensor(1, KEYS, prompt(size), WIDTH)


def first_half(size: Preset) -> TensorSpec:
    """Of a cache, as a slice of it."""
    strides = (KEYS * 2 * prompt(size) * WIDTH, 2 * prompt(size) * WIDTH, WIDTH, 1)
    return TensorSpec(keys(size).shape, "", strides=strides)


def quantised(made: Callable[[int, int], Arguments]) -> Variants:
    """The configuration of a product by quantised weights of so many inputs and outputs."""
    return lambda size: {
        "Llama 3 70B, feed-forward block, generating: weights larger than a last-level cache": {
            **made(*feed_forward(size, large=True)),
            TAGS: (FORM,),
        }
    }


FURTHER: dict[str, Variants] = {
    "_weight_int8pack_mm": quantised(
        lambda inputs, outputs: call(
            self=fixed(1, inputs, dtype=HALF),
            mat2=fixed(outputs, inputs, fill=EIGHT, dtype="int8"),
            scales=fixed(outputs, fill=POSITIVE, dtype=HALF),
        )
    ),
    "_weight_int4pack_mm_for_cpu": quantised(
        lambda inputs, outputs: call(
            self=fixed(1, inputs, dtype=HALF),
            mat2=fixed(outputs, inputs // 2, fill=NIBBLES, dtype="uint8"),
            qGroupSize=BLOCK,
            qScaleAndZeros=fixed(inputs // BLOCK, outputs, 2, fill=POSITIVE, dtype=HALF),
        )
    ),
    # Of products of integers a few sequences' tokens.
    "_int_mm": quantised(
        lambda inputs, outputs: call(
            self=fixed(32, inputs, dtype="int8", fill=EIGHT),
            mat2=transposed(fixed(inputs, outputs, dtype="int8", fill=EIGHT)),
        )
    ),
    "mm.default": lambda size: {
        why: call(self=made(tokens, inputs), mat2=transposed(made(inputs, outputs)), **IN_HALF)
        for tokens, why in steps(size)
        for inputs, outputs in [feed_forward(size)]
        for made in [fixed if tokens == 1 else tensor]
    },
    "linear.default": lambda size: {
        why: call(input=made(1, tokens, inputs), weight=made(outputs, inputs), **IN_HALF)
        for tokens, why in steps(size)
        for inputs, outputs in [feed_forward(size)]
        for made in [fixed if tokens == 1 else tensor]
    },
    "copy_": lambda size: {
        f"{CACHED}: a slice": call(self=first_half(size), src=fixed(*keys(size).shape), **IN_HALF)
    },
    "neg.default": lambda size: {
        f"{ROTARY}: each head's second half, negated": call(self=queries(size, half=1), **IN_HALF)
    },
    "cat.default": lambda size: {
        f"{ROTARY}: the halves of each head exchanged": call(
            tensors=(tensor(1, HEADS, prompt(size), WIDTH // 2), queries(size, half=0)),
            dim=-1,
            **IN_HALF,
        )
    },
    "mul.Tensor": lambda size: {
        f"{ROTARY}: by cosines that all heads share": call(
            self=queries(size), other=fixed(1, 1, prompt(size), WIDTH), **IN_HALF
        )
    },
    "index_copy.default": lambda size: {
        f"{CACHED}, by their places": call(
            self=cache(size),
            dim=2,
            index=fixed(prompt(size), fill=SEQUENCE, dtype="int64"),
            source=keys(size),
            **IN_HALF,
        )
    },
    "slice_scatter": lambda size: {
        f"{CACHED}, as a compiled graph does it": call(
            self=cache(size), src=keys(size), dim=2, start=0, end=prompt(size), **IN_HALF
        )
    },
    "index_put.default": lambda size: {
        "Llama 3 8B, the keys of 2048 tokens to slots of a paged cache": call(
            self=tensor(8 * prompt(size), KEYS, WIDTH),
            indices=(shuffled(prompt(size)),),
            values=tensor(prompt(size), KEYS, WIDTH),
            **IN_HALF,
        )
    },
}
add_rows(FAMILIES.also, FURTHER)
