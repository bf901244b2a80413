"""Attention of models for text, most of them with twelve heads of 64 as BERT-base."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from opperf.model import Fill, Operator, TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles, Table, use
from opperf.rules.bert import HEADS, UNITS, WIDTH, scores, tokens
from opperf.rules.configurations import FORM, TAGS, WHY
from opperf.rules.deviations import NotFinite
from opperf.rules.families.layers import INDEX
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import NORMAL, SIMPLEX, Arguments, below, fixed, literal, tensor

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
        """Tokens that are attended to, with `parts` projections side by side: keys and values,
        and the queries of the same tokens."""
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
    """Layers in which the tokens of a text attend to each other. Of long texts there are fewer, as
    the scores grow with the square of the length."""
    yield bert(size)
    length = size.extent(512, least=16)
    few = max(1, size.batch // 16)
    yield Layer("BERT-base, pre-training on 512 tokens", few, length, length)
    longest = size.extent(1024, least=32)
    yield Layer("GPT-2, one text of its longest context, 1024 tokens", 1, longest, longest)


def cross_layers(size: Preset) -> Iterable[Layer]:
    """Layers in which the tokens of a sentence attend to those of another, or new tokens to those
    before them."""
    yield bert(size)._replace(why="BART-base, pre-training: a sentence and its noisy copy")
    # Vaswani et al., "Attention Is All You Need", 2017: the big model.
    batch, length, units, heads = size.batch, size.extent(32, least=4), 1024, 16
    yield Layer("Transformer (big), translating sentences", batch, length, length, units, heads)
    yield Layer("Transformer (big), generating one token", batch, length, 1, units, heads)
    few, cached = size.images, size.extent(1024, least=16)
    # Lewis et al., "BART", 2020: sources of up to 1024 tokens.
    yield Layer(
        "BART-large summarising a batch: one new token of each by its source of 1024 tokens",
        *(few, cached, 1, units, heads, GENERATED),
    )
    # Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", 2023: four
    # tokens of a smaller model are checked in one step.
    yield Layer(
        "GPT-2 checking four drafted tokens of each text of a batch by 1024 before them",
        *(few, cached, 4, UNITS, HEADS, GENERATED),
    )


GENERATED = ("decode", FORM)


@FAMILIES.operation("self_attention_scores")
def self_scores(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Scores of tokens of one text."""
    for layer in self_layers(size):
        projected = layer.projections(3)
        made: Roles = {"queries_keys_values": projected, "heads": layer.heads}
        yield {**made, WHY: layer.why, TAGS: layer.tags}


@FAMILIES.operation("self_attention_context")
def self_context(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Values of one text weighted."""
    for layer in self_layers(size):
        yield {
            **{WHY: layer.why, TAGS: layer.tags},
            "queries_keys_values": layer.projections(3),
            "attention": layer.weights,
            "heads": layer.heads,
        }


@FAMILIES.operation("cross_attention_scores")
def cross_scores(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Scores of tokens of a sentence and its translation."""
    for layer in cross_layers(size):
        yield {
            **{WHY: layer.why, TAGS: layer.tags},
            "queries": layer.attending,
            "keys_values": layer.projections(2),
            "heads": layer.heads,
        }


@FAMILIES.operation("cross_attention_context")
def cross_context(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Values of another sentence weighted."""
    for layer in cross_layers(size):
        yield {
            **{WHY: layer.why, TAGS: layer.tags},
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


NOT_FINITE = {"masked_log_softmax": NotFinite("the logarithm of what is masked is infinite")}

SINGLE = "float32"
"""The dtype of oneDNN's fused operators, apart from quantised ones."""


def in_single(spec: TensorSpec) -> TensorSpec:
    """The tensor in the only dtype that fused operators take."""
    return msgspec.structs.replace(spec, dtype=SINGLE)


@FAMILIES.add("_sg_onednn_selfatt_qk", "_sg_onednn_selfatt_valatt")
def fused(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `self_scores` or `self_context`, sentence by sentence."""
    batch, length = tokens(size)
    made: Arguments = {"queries_keys_values": fixed(batch, length, 3 * UNITS, dtype=SINGLE)}
    what = "queries by keys"
    if operator.parameter("attention") is not None:
        made["attention"], what = (
            fixed(*scores(size), fill=SIMPLEX, dtype=SINGLE),
            "values weighted",
        )
    why = f"BERT-base predicting, sentence by sentence: {what} in one call of oneDNN"
    yield {**made, "heads": HEADS, WHY: why, TAGS: (FORM,)}


@FAMILIES.add("_sg_mkldnn_selfatt_qk", "_sg_mkldnn_selfatt_valatt")
def fused_in_mxnet_1(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `fused`, with the same layout of tokens in MXNet 1."""
    made: Arguments = {"queries_keys_values": in_single(bert(size).projections(3))}
    what = "queries by keys"
    if operator.parameter("attention") is not None:
        made["attention"], what = in_single(bert(size).weights), "values weighted"
    why = f"BERT-base predicting, tokens before sentences in memory: {what}"
    yield {**made, "heads": HEADS, WHY: why, TAGS: (FORM,)}


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
    def dilation(self) -> Arguments:
        """The steps' argument."""
        return {"dilation": fixed(self.heads, fill=literal(self.steps), dtype=INDEX)}

    @property
    def window(self) -> Arguments:
        """The window's arguments."""
        return {"w": self.reach, "symmetric": self.symmetric}


def bands(size: Preset) -> tuple[Band, Band]:
    """Layers of one text each: of an encoder, and of a language model, in whose upper layers two
    heads skip tokens."""
    tokens, reach = size.extent(4096, least=64), size.extent(256, least=4)
    return (
        Band("Longformer-base, one text of 4096 tokens", HEADS, tokens, reach, (1,) * HEADS),
        Band(
            "Longformer's small language model, an upper layer: the tokens before alone",
            *(8, tokens // 2, reach, (1,) * 6 + (2,) * 2, False),
        ),
    )


@FAMILIES.add("_contrib_sldwin_atten_score")
def sliding_scores(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Queries and keys, whose scores inside the window are computed."""
    for band in bands(size):
        vectors = {"query": band.vectors, "key": band.vectors}
        yield {WHY: f"{band.why}: scores", **vectors, **band.dilation, **band.window}


@FAMILIES.add("_contrib_sldwin_atten_context")
def sliding_context(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores inside the window, and the values that they weight."""
    for band in bands(size):
        yield {
            WHY: f"{band.why}: weighted values",
            "score": tensor(*band.scores, fill=SIMPLEX),
            "value": band.vectors,
            **band.dilation,
            **band.window,
        }


@FAMILIES.add("_contrib_sldwin_atten_mask_like")
def sliding_mask(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores and the text's length, beyond which the window is masked."""
    for band in bands(size):
        ends = below(band.tokens + 1, start=band.tokens // 2)
        yield {
            WHY: f"{band.why}: what is beyond its end is masked",
            "score": fixed(*band.scores),
            **band.dilation,
            "valid_length": fixed(1, fill=ends, dtype=INDEX),
            **band.window,
        }
