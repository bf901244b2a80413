"""The shapes of BERT-base's layers.

Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
2019: twelve layers of this width, pre-trained mostly on sentences of 128 tokens.
"""

from __future__ import annotations

from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset

UNITS = 768
"""Width of a token's vector."""
HEADS = 12
"""Heads of attention in a layer."""
WIDTH = UNITS // HEADS
"""Length of one head's vectors."""
FEED_FORWARD = 4 * UNITS
"""Width inside a feed-forward block, between its two dense layers."""
WORDS = 30_522
"""Word pieces in the vocabulary, uncased."""


def layer_width(size: Preset, width: int = UNITS) -> int:
    """A width of BERT-base's layers, which is narrower at size small alone."""
    return min(width, size.extent(width))


def tokens(size: Preset) -> Shape:
    """Shape of a batch of sentences, a number for each token."""
    return (size.batch, size.extent(128, least=8))


def sentences(size: Preset, width: int = UNITS) -> Shape:
    """Shape of a batch of sentences, a vector for each token."""
    return (*tokens(size), width)


def scores(size: Preset) -> Shape:
    """Shape of a batch of attention scores: by head, for each pair of tokens."""
    batch, length = tokens(size)
    return (batch, HEADS, length, length)


def few_sentences(size: Preset, width: int = UNITS) -> Shape:
    """Shape of fewer sentences, as many as images: for operators that take long for an element."""
    return (size.images, *sentences(size, width)[1:])


def heads(size: Preset) -> Shape:
    """Shape of the queries of as many sentences: a vector for each token and head."""
    return (*few_sentences(size)[:2], HEADS, WIDTH)
