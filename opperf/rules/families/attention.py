"""Attention: as in BERT-base, twelve heads of 64 over sentences of 128 tokens, and over longer
texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import HEADS, UNITS, WIDTH, tokens
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import SIMPLEX, tensor

FAMILIES = Families()


class Layer(NamedTuple):
    """A layer of attention of a batch of texts."""

    why: str
    batch: int
    keys: int
    """Number of tokens that are attended to."""
    queries: int
    """Number of tokens that attend."""
    units: int = UNITS
    heads: int = HEADS

    def projections(self, parts: int) -> TensorSpec:
        """Tokens that are attended to, with `parts` projections side by side: keys and values,
        and the queries of the same tokens."""
        return tensor(self.keys, self.batch, parts * self.units)

    @property
    def weights(self) -> TensorSpec:
        """How much each token attends to each other, head by head."""
        return tensor(self.batch * self.heads, self.queries, self.keys, fill=SIMPLEX)


def bert(size: Preset) -> Layer:
    """A layer of BERT-base, whose tokens attend to each other."""
    batch, length = tokens(size)
    return Layer("BERT-base, pre-training on sentences of 128 tokens", batch, length, length)


def self_layers(size: Preset) -> Iterable[Layer]:
    """Layers in which the tokens of a text attend to each other. Of long texts there are fewer, as
    the scores grow with the square of the length."""
    yield bert(size)
    length = size.extent(512, least=16)
    few = max(1, size.batch // 16)
    yield Layer("BERT-base, pre-training on 512 tokens", few, length, length)
    longest = size.extent(1024, least=32)
    yield Layer("GPT-2, one text of its longest context, 1024 tokens", 1, longest, longest)


def cross_layers(size: Preset) -> Iterable[Layer]:
    """Layers in which the tokens of a sentence attend to those of another."""
    yield bert(size)._replace(why="as BERT-base, a sentence and another of its length")
    # Vaswani et al., "Attention Is All You Need", 2017: the big model.
    batch, length, units, heads = size.batch, size.extent(32, least=4), 1024, 16
    yield Layer("Transformer (big), translating sentences", batch, length, length, units, heads)
    yield Layer("Transformer (big), generating one token", batch, length, 1, units, heads)


@FAMILIES.operation("self_attention_scores")
def self_scores(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Scores of tokens of one text."""
    for layer in self_layers(size):
        projected = layer.projections(3)
        yield {WHY: layer.why, "queries_keys_values": projected, "heads": layer.heads}


@FAMILIES.operation("self_attention_context")
def self_context(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Values of one text weighted."""
    for layer in self_layers(size):
        yield {
            WHY: layer.why,
            "queries_keys_values": layer.projections(3),
            "attention": layer.weights,
            "heads": layer.heads,
        }


@FAMILIES.operation("cross_attention_scores")
def cross_scores(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Scores of tokens of a sentence and its translation."""
    for layer in cross_layers(size):
        yield {
            WHY: layer.why,
            "queries": tensor(layer.queries, layer.batch, layer.units),
            "keys_values": layer.projections(2),
            "heads": layer.heads,
        }


@FAMILIES.operation("cross_attention_context")
def cross_context(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Values of another sentence weighted."""
    for layer in cross_layers(size):
        yield {
            WHY: layer.why,
            "keys_values": layer.projections(2),
            "attention": layer.weights,
            "heads": layer.heads,
        }


@FAMILIES.operation("divided_by_root_of_width")
def scaled_queries(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Queries divided by the root of their length."""
    batch, length = tokens(size)
    yield {
        WHY: "BERT-base, queries of every head, before their products with the keys",
        "x": tensor(batch * HEADS, length, WIDTH),
    }
