"""Further inputs of PyTorch's operators as today's language models generate with them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from opperf.model import Fill, TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import layer_width
from opperf.rules.configurations import DTYPE, OUTSIDE, TAGS, WHY
from opperf.rules.dependencies import balanced
from opperf.rules.llama import FEED_FORWARD, HALF, HEADS, KEYS, UNITS, WIDTH, WORDS, prompt
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.layers import OPERATIONS
from opperf.rules.torch.roles import by_role
from opperf.rules.values import POSITIVE, SIMPLEX, Arguments, below, call, fixed, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

DECODE = "decode"
STEP: Arguments = {TAGS: (DECODE,)}
IN_HALF: Arguments = {DTYPE: HALF}
NEW_TOKEN = STEP | IN_HALF
GEMMA = 256_000
"""Words of Gemma 2, which caps logits at 30 times a hyperbolic tangent."""
EXPERTS, CHOSEN = 256, 8
"""Experts of DeepSeek-V3, and how many each token is sent to."""
LATENT, ROPE, HEAD, LATENT_HEADS = 512, 64, 128, 16
"""Of DeepSeek-V2-Lite's attention: numbers of a token's compressed keys and values, those of its
position, those of a head without them, and heads.

DeepSeek-AI, "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model",
2024."""
WIDE_HEAD = 256
"""Numbers of a head of Gemma 3."""

ABSORBED = "DeepSeek-V2-Lite generating: each head's query by its matrix, to the latent space"
QUERIES = fixed(LATENT_HEADS, 1, HEAD)
"""A new token's query of each head."""
TO_LATENT = fixed(LATENT_HEADS, HEAD, LATENT)
"""Each head's matrix, by which queries are multiplied in place of all keys."""


def words(size: Preset, most: int = WORDS) -> int:
    """The words of a vocabulary, which is smaller at size small alone."""
    return min(most, size.extent(most))


@FAMILIES.also("scaled_dot_product_attention")
@by_role(OPERATIONS)
def attending(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """New tokens against texts of thousands, and attention that is not square or not full."""
    for batch, keys, why in (
        (1, 8192, "Llama 3 8B generating: one query against 8192 tokens"),
        (max(1, size.batch // 4), 8192, "Llama 3 8B generating for a batch, 8192 tokens in each"),
        (1, 131_072, "Llama 3.1 8B generating: one query against 131072 tokens"),
    ):
        yield {
            "query": fixed(batch, HEADS, 1, WIDTH),
            **dict.fromkeys(("key", "value"), fixed(batch, KEYS, size.extent(keys), WIDTH)),
            **{DTYPE: HALF, TAGS: (DECODE,), WHY: why},
        }
    # Attention of two widths is computed by products: of its scores there are few.
    text, cached = size.extent(512, least=32), size.extent(2048, least=64)
    for why, queries, heads, keys, width, narrow, extra in (
        (
            "DeepSeek-V2-Lite reading 512 tokens, causal: heads of 192, values of 128",
            *(text, LATENT_HEADS, text, HEAD + ROPE, HEAD),
            {"causal": True},
        ),
        (
            "DeepSeek-V2-Lite generating: 16 queries of 576 to one latent key of 2048 tokens",
            *(1, 1, cached, LATENT + ROPE, LATENT),
            {TAGS: (DECODE,)},
        ),
    ):
        made = fixed if TAGS in extra else tensor
        yield {
            "query": made(1, LATENT_HEADS, queries, width),
            "key": made(1, heads, keys, width),
            "value": made(1, heads, keys, narrow),
            **{**extra, DTYPE: HALF, WHY: why},
        }

    text = size.extent(4096, least=64)
    yield {
        "query": fixed(1, 4, text, WIDE_HEAD),
        **dict.fromkeys(("key", "value"), fixed(1, 1, text, WIDE_HEAD)),
        "mask": fixed(text, text, fill=Fill("band", 0.0, float(size.extent(512))), dtype="bool"),
        DTYPE: HALF,
        WHY: "Gemma 3 1B reading 4096 tokens: each sees a window of 512, four queries to one key",
    }


def scores(size: Preset) -> TensorSpec:
    """The logits of a batch's next words."""
    return fixed(size.batch, words(size))


def likelihoods(size: Preset) -> TensorSpec:
    """The probabilities of a batch's next words."""
    return fixed(size.batch, words(size), fill=SIMPLEX)


def routed(size: Preset) -> TensorSpec:
    """The number of an expert for each copy of a token."""
    return fixed(CHOSEN * prompt(size), fill=below(EXPERTS), dtype="int64")


def hidden(size: Preset) -> TensorSpec:
    """Tokens of a text inside a feed-forward block."""
    return tensor(1, prompt(size), layer_width(size, FEED_FORWARD))


def copies(size: Preset) -> TensorSpec:
    """Of each row of what experts are sent, the token: each as often, as it is sent to so many."""
    return fixed(CHOSEN * prompt(size), fill=balanced(prompt(size)), dtype="int64")


def experts_width(size: Preset) -> int:
    """The width of a token's vector in the largest of the models whose experts fit a machine."""
    return layer_width(size, 2048)


def cache(size: Preset) -> TensorSpec:
    """The keys of a batch, with room for 2048 tokens each."""
    return fixed(size.batch, KEYS, prompt(size), WIDTH)


def new(size: Preset) -> TensorSpec:
    """The keys of a new token of each text of a batch."""
    return fixed(size.batch, KEYS, 1, WIDTH)


def distinct(*shape: int) -> TensorSpec:
    """Scores of which no two are equal: the places of equal ones are in no order."""
    return fixed(*shape, fill=Fill("balanced", 0.0, float(math.prod(shape))))


NEXT = "Llama 3, a batch's next words of 128256"
GATED = "Llama 3 8B, feed-forward block, 2048 tokens"
WRITTEN = "Llama 3 8B, a batch's new keys to a cache of 2048 tokens each"
ROUTER = "DeepSeek-V3, eight of 256 experts for each of 2048 tokens"
SENT = "Qwen3 30B A3B, eight copies of each of 2048 tokens"

ROWS: Mapping[str, Variants] = {
    "topk": lambda size: {
        f"{NEXT}: the best 50": call(self=scores(size), k=50, **STEP),
        ROUTER: call(self=tensor(prompt(size), EXPERTS), k=CHOSEN),
    },
    "sort.default": lambda size: {
        f"{NEXT}: in falling order, for top-p": call(
            self=distinct(max(1, size.batch // 4), words(size)), dim=-1, descending=True, **STEP
        )
    },
    "cumsum.default": lambda size: {
        f"{NEXT}: sums of probabilities, for top-p": call(self=likelihoods(size), dim=-1, **STEP)
    },
    "softmax.int": lambda size: {f"{NEXT}: probabilities": call(self=scores(size), dim=-1, **STEP)},
    "log_softmax.int": lambda size: {
        f"{NEXT}: log-probabilities": call(self=scores(size), dim=-1, **STEP)
    },
    "logsumexp.default": lambda size: {
        f"{NEXT}: what turns logits to log-probabilities": call(self=scores(size), dim=-1, **STEP)
    },
    "tanh.default": lambda size: {
        "Gemma 2, next words of a batch: logits of 256000, softly capped": call(
            self=fixed(max(1, size.batch // 4), words(size, GEMMA)), **NEW_TOKEN
        )
    },
    "gather.default": lambda size: {
        "Llama 3, 512 tokens: the log-probability of each among those of 128256": call(
            self=tensor(size.extent(512, least=16), words(size)),
            dim=-1,
            index=fixed(size.extent(512, least=16), 1, fill=below(words(size)), dtype="int64"),
            **{TAGS: ("train", OUTSIDE)},
        )
    },
    "argmax.default": lambda size: {f"{NEXT}: the best": call(self=scores(size), dim=-1, **STEP)},
    "multinomial": lambda size: {
        f"{NEXT}: one drawn": call(self=likelihoods(size), num_samples=1, **STEP)
    },
    "cross_entropy_loss": lambda size: {
        "Llama 3, 512 tokens, each among 128256": call(
            self=tensor(size.extent(512, least=16), words(size)),
            target=fixed(size.extent(512, least=16), fill=below(words(size)), dtype="int64"),
            **IN_HALF | {TAGS: ("train", OUTSIDE)},
        )
    },
    "rms_norm.default": lambda size: {
        "Llama 3 8B, 2048 tokens, each by the root of its mean square": call(
            input=tensor(1, prompt(size), layer_width(size, UNITS)),
            normalized_shape=(layer_width(size, UNITS),),
            weight=tensor(layer_width(size, UNITS), fill=POSITIVE),
            eps=1e-5,
            **IN_HALF | {TAGS: (OUTSIDE,)},
        )
    },
    "silu.default": lambda size: {f"{GATED}: gates": call(self=hidden(size), **IN_HALF)},
    "mul.Tensor": lambda size: {
        f"{GATED}: by their gates (SwiGLU)": call(self=hidden(size), other=hidden(size), **IN_HALF)
    },
    "gelu.default": lambda size: {
        "Gemma 2 9B's GeGLU, 2048 tokens": call(self=hidden(size), approximate="tanh", **IN_HALF)
    },
    "index_copy.default": lambda size: {
        WRITTEN: call(
            self=cache(size),
            dim=2,
            index=fixed(1, fill=below(prompt(size)), dtype="int64"),
            source=new(size),
            **NEW_TOKEN,
        )
    },
    "index_put.default": lambda size: {
        "Llama 3 8B, a batch's new keys to slots of a paged cache": call(
            self=fixed(size.batch * prompt(size), KEYS, WIDTH),
            indices=(fixed(size.batch, fill=below(size.batch * prompt(size)), dtype="int64"),),
            values=fixed(size.batch, KEYS, WIDTH),
            **NEW_TOKEN,
        )
    },
    "cat.default": lambda size: {
        "Llama 3 8B, new keys appended": call(tensors=(cache(size), new(size)), dim=2, **NEW_TOKEN)
    },
    "copy_": lambda size: {
        f"{WRITTEN}: a slice of it": call(
            self=TensorSpec(
                (size.batch, KEYS, 1, WIDTH),
                "",
                strides=(KEYS * prompt(size) * WIDTH, prompt(size) * WIDTH, WIDTH, 1),
            ),
            src=new(size),
            **NEW_TOKEN,
        )
    },
    "index_select": lambda size: {
        f"{SENT}, to its experts": call(
            self=tensor(prompt(size), experts_width(size)), dim=0, index=copies(size), **IN_HALF
        )
    },
    "index_add": lambda size: {
        f"{SENT}, summed behind its experts": call(
            self=tensor(prompt(size), experts_width(size)),
            dim=0,
            index=copies(size),
            source=tensor(CHOSEN * prompt(size), experts_width(size)),
            **IN_HALF,
        )
    },
    "argsort.stable": lambda size: {f"{ROUTER}: sorted": call(self=routed(size), stable=True)},
    "bincount": lambda size: {f"{ROUTER}: counted": call(self=routed(size), minlength=EXPERTS)},
    "bmm.default": lambda size: {ABSORBED: call(self=QUERIES, mat2=TO_LATENT, **NEW_TOKEN)},
    "sigmoid.default": lambda size: {f"{ROUTER}: scores": call(self=tensor(prompt(size), EXPERTS))},
}

add_rows(FAMILIES.also, ROWS)
