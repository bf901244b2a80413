"""Dense layers, dropout, embeddings, sequences and losses."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import FEED_FORWARD, UNITS, WORDS, few_sentences, tokens
from opperf.rules.engine import Families
from opperf.rules.pictures import images
from opperf.rules.shapes import Shape, cube, shapes, slim, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import below, fixed, tensor

FAMILIES = Families()

HIDDEN = 64
"""Units of the layer behind an image's rows."""
INDEX = "int32"
"""Dtype of indices: float16 has no whole numbers beyond 2048."""


def layer(shape: Shape, hidden: int) -> Roles:
    """A dense layer's inputs: of the last axis."""
    return {"data": tensor(*shape), "weight": tensor(hidden, shape[-1]), "bias": tensor(hidden)}


@FAMILIES.operation("dense")
def dense(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Images row by row, as a linear classifier takes them, and the layers of BERT-base, token by
    token: a projection, and the two of a feed-forward block, which of more sentences take a second
    a call."""

    for shape, hidden in (
        (images(size), HIDDEN),
        (few_sentences(size), UNITS),
        (few_sentences(size), FEED_FORWARD),
        (few_sentences(size, FEED_FORWARD), UNITS),
    ):
        yield layer(shape, hidden)


@FAMILIES.operation("dropout")
def dropout(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Half of the elements dropped; whole rows as well."""
    for shape in shapes(size):
        yield {"data": tensor(*shape), "rate": 0.5}
    yield {"data": tensor(*square(size)), "rate": 0.5, "axes": (1,)}


@FAMILIES.operation("embedding")
def embedding(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """BERT-base's vocabulary, looked up for a batch of sentences."""
    words = size.extent(WORDS)
    yield {
        "data": fixed(*tokens(size), fill=below(words), dtype=INDEX),
        "weight": tensor(words, UNITS),
    }


def lengths(size: Preset) -> TensorSpec:
    """A length for each sequence of the batch, none longer than the data."""
    steps, batch, _ = cube(size)
    return fixed(batch, fill=below(steps + 1, start=1))


@FAMILIES.operation("sequence_mask", "sequence_reverse")
def sequence(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Sequences of one length, and of a length each, time along the first axis."""
    data = tensor(*cube(size))
    yield {"data": data}
    yield {"data": data, "lengths": lengths(size)}


def scores(size: Preset) -> tuple[Shape, Shape, Shape]:
    """Shapes of a batch of scores, one for each class: a thousand classes, ten, a hundred."""
    return (square(size), slim(size), tall(size))


def scores_and_labels(shape: Shape) -> Roles:
    """Scores and the right class of each sample."""
    samples, classes = shape
    return {"data": tensor(*shape), "label": fixed(samples, fill=below(classes))}


@FAMILIES.operation("smooth_l1")
def smooth_l1(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Differences on both sides of where the loss becomes linear."""
    for shape in shapes(size):
        yield {"x": tensor(*shape), "sigma": 1.0}


@FAMILIES.operation("ctc_loss")
def ctc_loss(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Speech: 28 characters and the blank, at most a fifth as many characters as steps, so
    that every label fits with the blanks between repeated characters."""
    symbols = 29
    steps = size.extent(200, least=20)
    yield {
        "data": tensor(steps, size.batch, symbols),
        "label": fixed(size.batch, steps // 5, fill=below(symbols, start=1)),
    }


@FAMILIES.operation("softmax_cross_entropy")
def softmax_cross_entropy(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A batch of scores against the right classes."""
    return map(scores_and_labels, scores(size))
