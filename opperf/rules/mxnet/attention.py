"""Attention of models for text, most of them with twelve heads of 64 as BERT-base."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from opperf.model import Fill, TensorSpec
from opperf.operations.uses import Roles, Table, use
from opperf.rules.bert import HEADS, UNITS, WIDTH, scores, tokens
from opperf.rules.configurations import FORM, TAGS, WHY
from opperf.rules.deviations import NotFinite
from opperf.rules.families.layers import INDEX
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import NORMAL, SIMPLEX, Arguments, below, call, fixed, literal, tensor
from opperf.rules.variants import Row, Variants, add_rows

OPERATIONS: Table = {
    "_contrib_interleaved_matmul_encdec_qk": use(
        "cross_attention_scores", "queries keys_values heads"
    ),
    "_contrib_interleaved_matmul_encdec_valatt": use(
        "cross_attention_context", "keys_values attention heads"
    ),
    "_contrib_interleaved_matmul_selfatt_qk": use(
        "self_attention_scores", "queries_keys_values heads"
    ),
    "_contrib_interleaved_matmul_selfatt_valatt": use(
        "self_attention_context", "queries_keys_values attention heads"
    ),
    "_contrib_div_sqrt_dim": use("divided_by_root_of_width", "x=data"),
}

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
    tags: tuple[str, ...] = (FORM,)
    """Packages do not call queries, keys and values that lie side by side."""

    def _tensor(self, *shape: int, fill: Fill = NORMAL) -> TensorSpec:
        """A tensor of the layer; of one that generates, without a gradient."""
        return tensor(*shape, fill=fill, gradient="decode" not in self.tags)

    def projections(self, parts: int) -> TensorSpec:
        """Tokens that are attended to, with `parts` projections side by side, queries first."""
        return self._tensor(self.keys, self.batch, parts * self.units)

    @property
    def attending(self) -> TensorSpec:
        """Queries of the tokens that attend."""
        return self._tensor(self.queries, self.batch, self.units)

    @property
    def weights(self) -> TensorSpec:
        """How much each token attends to each other, head by head."""
        return self._tensor(self.batch * self.heads, self.queries, self.keys, fill=SIMPLEX)


def bert(size: Preset) -> Layer:
    """A layer of BERT-base, whose tokens attend to each other."""
    batch, length = tokens(size)
    return Layer("BERT-base, pre-training on sentences of 128 tokens", batch, length, length)


def self_layers(size: Preset) -> Iterable[Layer]:
    """Layers in which the tokens of a text attend to each other; of long texts there are fewer."""
    yield bert(size)
    length = size.extent(512, least=16)
    few = max(1, size.batch // 16)
    yield Layer("BERT-base, pre-training on 512 tokens", few, length, length)
    longest = size.extent(1024, least=32)
    yield Layer("GPT-2, one text of its longest context, 1024 tokens", 1, longest, longest)


def cross_layers(size: Preset) -> Iterable[Layer]:
    """Layers in which a sentence's tokens attend to another's, or new ones to those before."""
    yield bert(size)._replace(why="BART-base, pre-training: a sentence and its noisy copy")
    # Vaswani et al., "Attention Is All You Need", 2017: the big model.
    batch, length, units, heads = size.batch, size.extent(32, least=4), 1024, 16
    yield Layer("Transformer (big), translating sentences", batch, length, length, units, heads)
    yield Layer("Transformer (big), generating one token", batch, length, 1, units, heads)
    few, cached = size.images, size.extent(1024, least=16)
    # Lewis et al., "BART", 2020: sources of up to 1024 tokens.
    yield Layer("BART-large summarising 1024 tokens", few, cached, 1, units, heads, GENERATED)
    # Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", 2023.
    yield Layer("GPT-2 checking four drafted tokens", few, cached, 4, UNITS, HEADS, GENERATED)


GENERATED = ("decode", FORM)


def heads(layer: Layer, **tensors: TensorSpec) -> Roles:
    """The inputs of a layer by role."""
    return {**tensors, "heads": layer.heads, WHY: layer.why, TAGS: layer.tags}


def divided(size: Preset) -> Rows:
    """Queries divided by the root of their length."""
    batch, length = tokens(size)
    why = "BERT-base, queries of every head, before their products with the keys"
    return {why: call(x=tensor(batch * HEADS, length, WIDTH))}


OF_OPERATIONS: dict[str, Variants] = {
    "self_attention_scores": lambda size: [
        heads(layer, queries_keys_values=layer.projections(3)) for layer in self_layers(size)
    ],
    "self_attention_context": lambda size: [
        heads(layer, queries_keys_values=layer.projections(3), attention=layer.weights)
        for layer in self_layers(size)
    ],
    "cross_attention_scores": lambda size: [
        heads(layer, queries=layer.attending, keys_values=layer.projections(2))
        for layer in cross_layers(size)
    ],
    "cross_attention_context": lambda size: [
        heads(layer, keys_values=layer.projections(2), attention=layer.weights)
        for layer in cross_layers(size)
    ],
    "divided_by_root_of_width": divided,
}
add_rows(FAMILIES.operation, OF_OPERATIONS)


NOT_FINITE = {"masked_log_softmax": NotFinite("the logarithm of what is masked is infinite")}

SINGLE = "float32"
"""The dtype of oneDNN's fused operators, apart from quantised ones."""


def in_single(spec: TensorSpec) -> TensorSpec:
    """The tensor in the only dtype that fused operators take."""
    return msgspec.structs.replace(spec, dtype=SINGLE)


def fused(size: Preset) -> Arguments:
    """Tokens of BERT-base sentence by sentence, as MXNet 2 has them."""
    batch, length = tokens(size)
    made = fixed(batch, length, 3 * UNITS, dtype=SINGLE)
    return {"queries_keys_values": made, "heads": HEADS, TAGS: (FORM,)}


def fused_first(size: Preset) -> Arguments:
    """As `fused`, tokens before sentences, as MXNet 1 has them."""
    return {**fused(size), "queries_keys_values": in_single(bert(size).projections(3))}


BY_SENTENCE = "BERT-base predicting, sentence by sentence: {} in one call of oneDNN"
BY_TOKEN = "BERT-base predicting, tokens before sentences in memory: {}"
QUERIES, VALUES = "queries by keys", "values weighted"

FUSED: dict[str, Row] = {
    "_sg_onednn_selfatt_qk": lambda size: {**fused(size), WHY: BY_SENTENCE.format(QUERIES)},
    "_sg_onednn_selfatt_valatt": lambda size: {
        **fused(size),
        "attention": fixed(*scores(size), fill=SIMPLEX, dtype=SINGLE),
        WHY: BY_SENTENCE.format(VALUES),
    },
    "_sg_mkldnn_selfatt_qk": lambda size: {**fused_first(size), WHY: BY_TOKEN.format(QUERIES)},
    "_sg_mkldnn_selfatt_valatt": lambda size: {
        **fused_first(size),
        "attention": in_single(bert(size).weights),
        WHY: BY_TOKEN.format(VALUES),
    },
}
add_rows(FAMILIES.add, FUSED)


class Band(NamedTuple):
    """Heads whose tokens attend to those of a window alone: Beltagy et al., "Longformer: The
    Long-Document Transformer", 2020."""

    why: str
    heads: int
    tokens: int
    reach: int
    """Number of tokens to a side of each."""
    steps: tuple[int, ...]
    """From one token of the window to the next, head by head."""
    symmetric: bool = True
    """Whether the tokens behind are seen, too."""

    @property
    def vectors(self) -> TensorSpec:
        """A vector for each token and head."""
        return tensor(1, self.tokens, self.heads, WIDTH)

    @property
    def scores(self) -> Shape:
        """Shape of the scores of the tokens of each window."""
        seen = (2 if self.symmetric else 1) * self.reach + 1
        return (1, self.tokens, self.heads, seen)

    @property
    def window(self) -> Arguments:
        """The window's arguments."""
        steps = fixed(self.heads, fill=literal(self.steps), dtype=INDEX)
        return {"dilation": steps, "w": self.reach, "symmetric": self.symmetric}


def bands(size: Preset) -> tuple[Band, Band]:
    """Layers of one text: of an encoder, and of a language model, where two heads skip tokens."""
    tokens, reach = size.extent(4096, least=64), size.extent(256, least=4)
    return (
        Band("Longformer-base, one text of 4096 tokens", HEADS, tokens, reach, (1,) * HEADS),
        Band("Longformer's LM, an upper layer", 8, tokens // 2, reach, (1,) * 6 + (2,) * 2, False),
    )


SLIDING: dict[str, Variants] = {
    "_contrib_sldwin_atten_score": lambda size: {
        f"{band.why}: scores": call(query=band.vectors, key=band.vectors, **band.window)
        for band in bands(size)
    },
    "_contrib_sldwin_atten_context": lambda size: {
        f"{band.why}: weighted values": call(
            score=tensor(*band.scores, fill=SIMPLEX), value=band.vectors, **band.window
        )
        for band in bands(size)
    },
    "_contrib_sldwin_atten_mask_like": lambda size: {
        f"{band.why}: what is beyond its end is masked": call(
            score=fixed(*band.scores),
            **band.window,
            valid_length=fixed(1, fill=below(band.tokens + 1, start=band.tokens // 2), dtype=INDEX),
        )
        for band in bands(size)
    },
}
add_rows(FAMILIES.add, SLIDING)
