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
from opperf.rules.values import PADDED, SIMPLEX, fixed, tensor

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


class Heads(NamedTuple):
    """Extents of attention, head by head."""

    why: str
    batch: int
    heads: int
    queries: int
    keys: int
    width: int
    shared: int = 1
    """Heads of queries to each of keys and values."""
    causal: bool = False

    @property
    def roles(self) -> Roles:
        """Queries, keys and values."""
        keys = (self.batch, self.heads // self.shared, self.keys, self.width)
        return {
            WHY: self.why,
            "query": tensor(self.batch, self.heads, self.queries, self.width),
            "key": tensor(*keys),
            "value": tensor(*keys),
            **({"causal": True} if self.causal else {}),
        }


@FAMILIES.operation("attention")
def attention(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Layers of transformers: of encoders, of decoders that read and that generate, of pictures,
    and with masks of both kinds."""
    batch, length = tokens(size)
    long, cached = size.extent(1024, least=32), size.extent(2048, least=64)
    for made in (
        Heads("BERT-base, sentences of 128 tokens", batch, HEADS, length, length, WIDTH),
        Heads("GPT-2, one text of 1024 tokens, causal", 1, HEADS, long, long, WIDTH, causal=True),
        Heads(
            "Llama 3 8B reading 256 tokens, causal, four heads of queries to one of keys",
            1,
            32,
            size.extent(256, least=16),
            size.extent(256, least=16),
            128,
            shared=4,
            causal=True,
        ),
        Heads(
            "Llama 3 8B generating: one query against 2048 tokens", 1, 32, 1, cached, 128, shared=4
        ),
        Heads("Llama 2 7B generating: one query against 2048 tokens", 1, 32, 1, cached, 128),
        Heads(
            "Stable Diffusion, a picture to 77 tokens", 1, 8, size.extent(4096, least=64), 77, 40
        ),
    ):
        yield made.roles
    few = max(1, batch // 4)
    masked = Heads("BERT-base, padding masked", few, HEADS, length, length, WIDTH)
    mask = fixed(few, 1, 1, length, fill=PADDED, dtype="bool")
    yield {**masked.roles, "mask": mask}
    biased = Heads("T5-base, a bias for each distance of words", few, HEADS, length, length, WIDTH)
    yield {**biased.roles, "mask": fixed(1, HEADS, length, length), "scale": 1.0}


@FAMILIES.operation("divided_by_root_of_width")
def scaled_queries(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Queries divided by the root of their length."""
    batch, length = tokens(size)
    yield {
        WHY: "BERT-base, queries of every head, before their products with the keys",
        "x": tensor(batch * HEADS, length, WIDTH),
    }
