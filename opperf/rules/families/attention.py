"""Attention, as in BERT-base: twelve heads of 64 over sentences of 128 tokens."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import HEADS, UNITS, WIDTH, tokens
from opperf.rules.engine import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import SIMPLEX, tensor

FAMILIES = Families()


def projections(size: Preset, parts: int) -> TensorSpec:
    """Tokens with `parts` projections side by side: queries, keys, values."""
    batch, length = tokens(size)
    return tensor(length, batch, parts * UNITS)


def weights(size: Preset) -> TensorSpec:
    """How much each token attends to each other, head by head."""
    batch, length = tokens(size)
    return tensor(batch * HEADS, length, length, fill=SIMPLEX)


@FAMILIES.operation("self_attention_scores")
def self_scores(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Scores of tokens of one sentence."""
    yield {"queries_keys_values": projections(size, 3), "heads": HEADS}


@FAMILIES.operation("self_attention_context")
def self_context(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Values of one sentence weighted."""
    yield {
        "queries_keys_values": projections(size, 3),
        "attention": weights(size),
        "heads": HEADS,
    }


@FAMILIES.operation("cross_attention_scores")
def cross_scores(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Scores of tokens of a sentence and its translation."""
    yield {"queries": projections(size, 1), "keys_values": projections(size, 2), "heads": HEADS}


@FAMILIES.operation("cross_attention_context")
def cross_context(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Values of another sentence weighted."""
    yield {"keys_values": projections(size, 2), "attention": weights(size), "heads": HEADS}


@FAMILIES.operation("divided_by_root_of_width")
def scaled_queries(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Queries divided by the root of their length."""
    batch, length = tokens(size)
    yield {"x": tensor(batch * HEADS, length, WIDTH)}
