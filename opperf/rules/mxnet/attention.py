"""Attention, as in BERT-base: twelve heads of 64 over sentences of 128 tokens."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from opperf.model import Operator, TensorSpec
from opperf.rules.bert import HEADS, UNITS, WIDTH, scores, tokens
from opperf.rules.configurations import WHY
from opperf.rules.families.attention import bert
from opperf.rules.families.layers import INDEX
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import PROBABILITY, SIMPLEX, Arguments, below, fixed, tensor

FAMILIES = Families()

SINGLE = "float32"
"""The dtype of oneDNN's fused operators, apart from quantised ones."""


def in_single(spec: TensorSpec) -> TensorSpec:
    """The tensor in the only dtype that fused operators take."""
    return msgspec.structs.replace(spec, dtype=SINGLE)


@FAMILIES.add("_sg_onednn_selfatt_qk")
def fused_scores(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `self_scores`, sentence by sentence."""
    batch, length = tokens(size)
    yield {
        WHY: "BERT-base predicting, sentence by sentence: queries by keys in one call of oneDNN",
        "queries_keys_values": fixed(batch, length, 3 * UNITS, dtype=SINGLE),
        "heads": HEADS,
    }


@FAMILIES.add("_sg_onednn_selfatt_valatt")
def fused_context(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `self_context`, sentence by sentence."""
    batch, length = tokens(size)
    yield {
        WHY: "BERT-base predicting, sentence by sentence: values weighted in one call of oneDNN",
        "attention": fixed(*scores(size), fill=SIMPLEX, dtype=SINGLE),
        "queries_keys_values": fixed(batch, length, 3 * UNITS, dtype=SINGLE),
        "heads": HEADS,
    }


@FAMILIES.add("_sg_mkldnn_selfatt_qk")
def fused_scores_in_mxnet_1(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `self_scores`, with the same layout of tokens in MXNet 1."""
    yield {
        WHY: "BERT-base predicting, tokens before sentences in memory: queries by keys",
        "queries_keys_values": in_single(bert(size).projections(3)),
        "heads": HEADS,
    }


@FAMILIES.add("_sg_mkldnn_selfatt_valatt")
def fused_context_in_mxnet_1(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `self_context`, with the same layout of tokens in MXNet 1."""
    yield {
        WHY: "BERT-base predicting, tokens before sentences in memory: values weighted",
        "queries_keys_values": in_single(bert(size).projections(3)),
        "attention": in_single(bert(size).weights),
        "heads": HEADS,
    }


def band(size: Preset) -> tuple[Shape, Arguments, Arguments]:
    """Shape of the heads' vectors, and arguments of the heads' dilation and of the window, for
    attention by a sliding window as in Longformer: a quarter of the sentence to either side."""
    batch, length = tokens(size)
    return (
        (batch, length, HEADS, WIDTH),
        {"dilation": fixed(HEADS, fill=below(3, start=1), dtype=INDEX)},
        {"w": length // 4, "symmetric": True},
    )


def band_scores(size: Preset) -> Shape:
    """Shape of the scores of tokens inside the window."""
    batch, length = tokens(size)
    return (batch, length, HEADS, 2 * (length // 4) + 1)


@FAMILIES.add("_contrib_sldwin_atten_score")
def sliding_scores(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Queries and keys, whose scores inside the window are computed."""
    shape, dilation, window = band(size)
    yield {
        WHY: "as Longformer, heads of BERT-base: scores of each token's neighbours alone",
        "query": tensor(*shape),
        "key": tensor(*shape),
        **dilation,
        **window,
    }


@FAMILIES.add("_contrib_sldwin_atten_context")
def sliding_context(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores inside the window, and the values that they weight."""
    shape, dilation, window = band(size)
    yield {
        WHY: "as Longformer, heads of BERT-base: the weighted values of each token's neighbours",
        "score": tensor(*band_scores(size), fill=PROBABILITY),
        "value": tensor(*shape),
        **dilation,
        **window,
    }


@FAMILIES.add("_contrib_sldwin_atten_mask_like")
def sliding_mask(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores and the sentences' lengths, beyond which the window is masked."""
    batch, length = tokens(size)
    _, dilation, window = band(size)
    yield {
        WHY: "as Longformer, heads of BERT-base: neighbours beyond each sentence's end are masked",
        "score": fixed(*band_scores(size)),
        **dilation,
        "valid_length": fixed(batch, fill=below(length + 1, start=length // 2), dtype=INDEX),
        **window,
    }
