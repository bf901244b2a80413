"""Dense layers, dropout, embeddings and activations."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.engine import Families
from opperf.rules.mxnet.bert import FEED_FORWARD, UNITS, WORDS, scores, sentences, tokens
from opperf.rules.mxnet.convolution import feature_maps, images
from opperf.rules.shapes import Shape, shapes, square, wide
from opperf.rules.sizes import Preset
from opperf.rules.values import PROBABILITY, Arguments, below, fixed, tensor

FAMILIES = Families()

HIDDEN = 64
"""Units of the layer that MXNet's users know."""
INDEX = "int32"
"""Dtype of indices: float16 has no whole numbers beyond 2048."""


def dense(shape: Shape, hidden: int, flat: bool = False) -> Arguments:
    """A dense layer's arguments: it takes samples as one vector each, or their last axis."""
    inputs = math.prod(shape[1:]) if flat else shape[-1]
    return {
        "data": tensor(*shape),
        "weight": tensor(hidden, inputs),
        "bias": tensor(hidden),
        "num_hidden": hidden,
        "flatten": flat,
    }


@FAMILIES.add("FullyConnected")
def fully_connected(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Images as one vector each and row by row, as MXNet's users know them, and the layers of
    BERT-base, token by token: a projection, and the two of a feed-forward block."""
    for shape, hidden, flat in (
        (images(size), HIDDEN, True),
        (images(size), HIDDEN, False),
        (sentences(size), UNITS, False),
        (sentences(size), FEED_FORWARD, False),
        (sentences(size, FEED_FORWARD), UNITS, False),
    ):
        yield dense(shape, hidden, flat)


@FAMILIES.add("Dropout")
def dropout(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Half of the elements dropped; whole rows as well."""
    for shape in shapes(size):
        yield {"data": tensor(*shape), "p": 0.5, "mode": "training"}
    yield {"data": tensor(*square(size)), "p": 0.5, "mode": "training", "axes": (1,)}


@FAMILIES.add("Embedding", "_contrib_SparseEmbedding")
def embedding(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """BERT-base's vocabulary, looked up for a batch of sentences."""
    words = size.extent(WORDS)
    yield {
        "data": fixed(*tokens(size), fill=below(words), dtype=INDEX),
        "weight": tensor(words, UNITS),
        "input_dim": words,
        "output_dim": UNITS,
    }


def kinds(operator: Operator) -> tuple[str, ...]:
    """Every activation the operator of this build knows."""
    choice = operator.parameter("act_type")
    return choice.choices if choice is not None else ()


@FAMILIES.add("Activation")
def activation(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Every activation."""
    for kind in kinds(operator):
        for shape in shapes(size):
            yield {"data": tensor(*shape), "act_type": kind}


@FAMILIES.add("LeakyReLU")
def leaky_relu(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Every activation; the one that learns has a slope for each column.

    The one with random slopes is run without a gradient, which takes the slopes drawn while
    training: predicting writes none, and training ends the process in MXNet 1.9.1 and 2.0.
    """
    for kind in kinds(operator):
        for shape in shapes(size):
            slopes: Arguments = (
                {"gamma": tensor(shape[-1], fill=PROBABILITY)} if kind == "prelu" else {}
            )
            yield {"data": tensor(*shape, gradient=kind != "rrelu"), **slopes, "act_type": kind}


@FAMILIES.add("softmax", "log_softmax", "softmin")
def softmax(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Along rows, and along columns, where neighbours in memory are apart. The last rows are
    the scores of BERT-base's heads."""
    for shape in (*wide(size), scores(size)):
        yield {"data": tensor(*shape), "axis": -1}
    yield {"data": tensor(*square(size)), "axis": 0}


@FAMILIES.add("SoftmaxActivation")
def softmax_activation(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Classes of whole samples, and of each pixel."""
    for shape in wide(size):
        yield {"data": tensor(*shape), "mode": "instance"}
    yield {"data": tensor(*feature_maps(size)), "mode": "channel"}
