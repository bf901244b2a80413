"""Integers of programs that every framework runs: positions, lengths of texts, votes, nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opperf.rules.configurations import WHY
from opperf.rules.sizes import Preset
from opperf.rules.values import SEQUENCE, Arguments, below, fixed

BUCKETS = 100_000
"""Rows of a hashed table of embeddings."""
LABELS = below(10)
"""Classes, few enough that predictions often hit them."""
NODES = 2_449_029
"""Of the graph ogbn-products, of which batches of edges are sampled."""
TEXT = 4096

Made = Callable[[Preset], Iterable[Arguments]]


def before(position: str, length: str, dtype: str) -> Made:
    """Compares each position of a batch of texts with the text's length."""

    def made(size: Preset) -> Iterable[Arguments]:
        longest = size.extent(TEXT)
        yield {
            position: fixed(1, longest, fill=SEQUENCE, dtype=dtype),
            length: fixed(size.batch, 1, fill=below(longest, start=longest // 4), dtype=dtype),
            WHY: f"positions in {dtype} and the length of each text: the mask of its padding",
        }

    return made


def causal(left: str, right: str, dtype: str) -> Made:
    """Compares all positions of a text with each other."""

    def made(size: Preset) -> Iterable[Arguments]:
        length = size.extent(TEXT)
        yield {
            left: fixed(length, 1, fill=SEQUENCE, dtype=dtype),
            right: fixed(1, length, fill=SEQUENCE, dtype=dtype),
            WHY: f"positions in {dtype}, each with those up to it: a causal mask",
        }

    return made


def votes(name: str, axis: str, dtype: str) -> Made:
    """Reduces the classes that the models of an ensemble predict to the most frequent."""

    def made(size: Preset) -> Iterable[Arguments]:
        predicted = fixed(size.extent(10000), 5, fill=LABELS, dtype=dtype)
        yield {name: predicted, axis: 1, WHY: f"the majority of five models' classes in {dtype}"}

    return made
