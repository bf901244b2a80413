"""The shapes of Llama's layers.

Grattafiori et al., "The Llama 3 Herd of Models", 2024: 32 heads of queries, and 8 of keys and
values, of 128 numbers each in the model of 8 billion parameters.
"""

from __future__ import annotations

from opperf.rules.bert import layer_width
from opperf.rules.sizes import Preset

UNITS, FEED_FORWARD = 4096, 14_336
"""Width of a token's vector, and inside a feed-forward block, of Llama 3 8B."""
LARGE_UNITS, LARGE_FEED_FORWARD = 8192, 28_672
"""The same of Llama 3 70B, whose weights no last-level cache holds in 4 bits each either."""
HEADS, KEYS, WIDTH = 32, 8, 128
"""Heads of queries, of keys and values, and the length of a head's vectors."""
WORDS = 128_256
HALF = "bfloat16"


def feed_forward(size: Preset, large: bool = False) -> tuple[int, int]:
    """Inputs and outputs of a feed-forward block's first layer."""
    inputs, outputs = (LARGE_UNITS, LARGE_FEED_FORWARD) if large else (UNITS, FEED_FORWARD)
    return layer_width(size, inputs), layer_width(size, outputs)


def prompt(size: Preset) -> int:
    """Tokens of a text that is read."""
    return size.extent(2048, least=32)


def steps(size: Preset) -> tuple[tuple[int, str], ...]:
    """Numbers of tokens that a layer takes at once, and why."""
    return (
        (prompt(size), "Llama 3 8B, feed-forward block, reading 2048 tokens: bound by arithmetic"),
        (1, "Llama 3 8B, feed-forward block, generating: bound by reading the weights"),
    )
