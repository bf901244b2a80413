"""Further inputs of PyTorch's operators as today's language models have them: large products, also
of quantised weights, long prompts, rotary embeddings, and writes to caches of keys."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator, TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import DTYPE, WHY
from opperf.rules.llama import HALF, HEADS, KEYS, UNITS, WIDTH, feed_forward, prompt, steps
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.torch.indexing import shuffled
from opperf.rules.torch.product_layouts import transposed
from opperf.rules.torch.quantization import BLOCK, EIGHT, NIBBLES
from opperf.rules.torch.roles import by_role
from opperf.rules.values import POSITIVE, SEQUENCE, Arguments, fixed, tensor
from opperf.rules.values import transposed as transposed_as

FAMILIES = Families()


@FAMILIES.also("mm.default")
def products(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tokens by a layer's weights, which are stored transposed."""
    for tokens, why in steps(size):
        inputs, outputs = feed_forward(size)
        made: Arguments = {"self": tensor(tokens, inputs), "mat2": transposed(inputs, outputs)}
        yield {**made, DTYPE: HALF, WHY: why}


@FAMILIES.also("linear.default")
def layers(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tokens through a layer without a bias."""
    for tokens, why in steps(size):
        inputs, outputs = feed_forward(size)
        made: Arguments = {"input": tensor(1, tokens, inputs), "weight": tensor(outputs, inputs)}
        yield {**made, DTYPE: HALF, WHY: why}


QUANTISED = "Llama 3 70B, feed-forward block, generating: weights larger than a last-level cache"


@FAMILIES.also("_weight_int8pack_mm", "_weight_int4pack_mm_for_cpu", "_int_mm")
def quantised(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A token, and of products of integers a few sequences' tokens, by quantised weights."""
    inputs, outputs = feed_forward(size, large=True)
    token = fixed(1, inputs, dtype=HALF)
    made: dict[str, Arguments] = {
        "_weight_int8pack_mm": {
            "self": token,
            "mat2": fixed(outputs, inputs, fill=EIGHT, dtype="int8"),
            "scales": fixed(outputs, fill=POSITIVE, dtype=HALF),
        },
        "_weight_int4pack_mm_for_cpu": {
            "self": token,
            "mat2": fixed(outputs, inputs // 2, fill=NIBBLES, dtype="uint8"),
            "qGroupSize": BLOCK,
            "qScaleAndZeros": fixed(inputs // BLOCK, outputs, 2, fill=POSITIVE, dtype=HALF),
        },
        "_int_mm": {
            "self": fixed(32, inputs, dtype="int8", fill=EIGHT),
            "mat2": transposed_as(inputs, outputs, "int8", EIGHT),
        },
    }
    yield {**made[operator.name], WHY: QUANTISED}


@FAMILIES.also("scaled_dot_product_attention")
@by_role
def reading(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A prompt, each of whose tokens attends to those before it."""
    keys = tensor(1, KEYS, prompt(size), WIDTH)
    yield {
        "query": tensor(1, HEADS, prompt(size), WIDTH),
        "key": keys,
        "value": keys,
        "causal": True,
        DTYPE: HALF,
        WHY: "Llama 3 8B reading 2048 tokens, causal, four heads of queries to one of keys",
    }


def queries(size: Preset, half: int | None = None) -> TensorSpec:
    """Queries as a projection leaves them, the heads of a token next to each other; or a half of
    each head's vector."""
    tokens = prompt(size)
    shape = (1, HEADS, tokens, WIDTH if half is None else WIDTH // 2)
    offset = WIDTH // 2 * half if half else 0
    strides = (tokens * UNITS, WIDTH, UNITS, 1)
    return TensorSpec(shape, "", gradient=True, strides=strides, offset=offset)


ROTARY = "Llama 3 8B, rotary embedding of 2048 tokens"


@FAMILIES.also("neg.default")
def negated_half(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The second half of each head's vector."""
    yield {
        "self": queries(size, half=1),
        DTYPE: HALF,
        WHY: f"{ROTARY}: the second half of each head, negated",
    }


@FAMILIES.also("cat.default")
def turned(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The halves of each head's vector in the other order, the first of which was negated."""
    yield {
        "tensors": (tensor(1, HEADS, prompt(size), WIDTH // 2), queries(size, half=0)),
        "dim": -1,
        DTYPE: HALF,
        WHY: f"{ROTARY}: the halves of each head exchanged",
    }


@FAMILIES.also("mul.Tensor")
def by_cosines(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Queries by the cosine of each place, which all heads share."""
    yield {
        "self": queries(size),
        "other": fixed(1, 1, prompt(size), WIDTH),
        DTYPE: HALF,
        WHY: f"{ROTARY}: by cosines that all heads share",
    }


def cache(size: Preset) -> TensorSpec:
    """Room for the keys of a text of twice the prompt's length."""
    return tensor(1, KEYS, 2 * prompt(size), WIDTH)


CACHED = "Llama 3 8B, the keys of 2048 tokens to a cache of 4096"


@FAMILIES.also("copy_")
def to_part(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Keys to the first half of a cache."""
    _, heads, room, width = cache(size).shape
    part = (1, heads, prompt(size), width)
    strides = (heads * room * width, room * width, width, 1)
    yield {
        "self": TensorSpec(part, "", strides=strides),
        "src": fixed(*part),
        DTYPE: HALF,
        WHY: f"{CACHED}: a slice of it",
    }


@FAMILIES.also("index_copy.default")
def to_places(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Keys to the places of their tokens."""
    yield {
        "self": cache(size),
        "dim": 2,
        "index": fixed(prompt(size), fill=SEQUENCE, dtype="int64"),
        "source": tensor(1, KEYS, prompt(size), WIDTH),
        DTYPE: HALF,
        WHY: f"{CACHED}, by their places",
    }


@FAMILIES.also("slice_scatter")
def to_slice(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Keys to the first half of a cache, as a new tensor."""
    yield {
        "self": cache(size),
        "src": tensor(1, KEYS, prompt(size), WIDTH),
        "dim": 2,
        "start": 0,
        "end": prompt(size),
        DTYPE: HALF,
        WHY: f"{CACHED}, as a compiled graph does it",
    }


@FAMILIES.also("index_put.default")
def to_slots(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Keys to slots of a cache that several texts share."""
    slots = 8 * prompt(size)
    index = shuffled(prompt(size))
    yield {
        "self": tensor(slots, KEYS, WIDTH),
        "indices": (index,),
        "values": tensor(prompt(size), KEYS, WIDTH),
        DTYPE: HALF,
        WHY: "Llama 3 8B, the keys of 2048 tokens to slots of a paged cache",
    }
