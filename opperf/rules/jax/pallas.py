"""Inputs of the Pallas kernels for GPUs that JAX comes with. On a CPU they are interpreted, block
by block as XLA's programs: what is measured is not the kernel."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.jax.language_models import half
from opperf.rules.llama import HEADS, KEYS, UNITS, WIDTH
from opperf.rules.registering import Family
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed

SCALE = WIDTH**-0.5
INTERPRETED = "interpreted on a CPU"


def tokens(size: Preset) -> int:
    """Tokens of a short prompt: interpreted, a block takes a millisecond."""
    return size.extent(256, least=32)


def rows(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Rows of scores, as many as a power of two, as the kernel needs."""
    why = f"scores of 256 tokens to 2048 others, a block for each; {INTERPRETED}"
    yield half(why, x=fixed(tokens(size), 2048))


def normalised(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Vectors of tokens."""
    weight = fixed(UNITS, dtype="float32")
    why = f"Llama 3 8B, vectors of 256 tokens, a block for each; {INTERPRETED}"
    x = fixed(1, tokens(size), UNITS)
    yield half(why, x=x, weight=weight, bias=weight)


def reading(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Queries, keys and values of one number of heads, as the kernel has them."""
    heads = fixed(1, max(128, tokens(size)), HEADS, WIDTH)
    why = f"flash attention: 256 tokens of Llama's 32 heads, causal; {INTERPRETED}"
    yield half(why, q=heads, k=heads, v=heads, segment_ids=None, sm_scale=SCALE, causal=True)


def generating(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A query by a cache of keys."""
    cache = fixed(1, size.extent(8192, least=4096), KEYS, WIDTH)
    why = f"Llama 3 8B generating by 8192 keys in 16 parts, as flash decoding; {INTERPRETED}"
    yield half(why, q=fixed(1, HEADS, WIDTH), k=cache, v=cache, sm_scale=SCALE)


GPU = "experimental.pallas.ops.gpu"
FUNCTIONS: dict[str, Family | str] = {
    f"{GPU}.softmax.softmax": rows,
    f"{GPU}.layer_norm.layer_norm": normalised,
    f"{GPU}.rms_norm.rms_norm": normalised,
    f"{GPU}.attention.mha": reading,
    f"{GPU}.decode_attention.gqa": generating,
}
"""By the place of a kernel: they are no functions of a public namespace."""
