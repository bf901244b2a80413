"""Attention, dense layers, dropout, embeddings, sequences and losses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import (
    FEED_FORWARD,
    HEADS,
    UNITS,
    WIDTH,
    WORDS,
    few_sentences,
    sentences,
    tokens,
)
from opperf.rules.configurations import TAGS, TOKENS, WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import FEW, Shape, cube, in_cache, shapes, slim, square, tiny
from opperf.rules.sizes import Preset
from opperf.rules.values import PADDED, below, fixed, tensor, zipf
from opperf.rules.variants import Row, add_rows

FAMILIES = Families()

INDEX = "int32"
"""Dtype of indices: float16 has no integers beyond 2048."""


def layer(shape: Shape, hidden: int) -> Roles:
    """A dense layer's inputs: of the last axis."""
    return {"data": tensor(*shape), "weight": tensor(hidden, shape[-1]), "bias": tensor(hidden)}


@FAMILIES.operation("dense")
def dense(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A classifier of images, and BERT-base's layers: more sentences would take a second a call."""
    yield {WHY: "ResNet-50, its classifier of a batch", **layer((size.batch, 2048), 1000)}
    for why, shape, hidden in (
        ("BERT-base, a projection of each token, as to queries", few_sentences(size), UNITS),
        ("BERT-base, feed-forward block, widening", few_sentences(size), FEED_FORWARD),
        ("BERT-base, feed-forward block, narrowing", few_sentences(size, FEED_FORWARD), UNITS),
    ):
        yield {WHY: why, TAGS: (TOKENS,), **layer(shape, hidden)}


OUTPUT_RATE, ATTENTION_RATE = 0.5, 0.1
"""Share of elements dropped behind dense layers, since AlexNet, and in transformers."""


@FAMILIES.operation("dropout")
def dropout(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Activations of transformers and classifiers, and masks that all steps of a sequence share."""
    tenth = "BERT-base, a tenth of the vectors of tokens"
    for notes, shape, rate in (
        ({WHY: "half of a dense layer's outputs, for classifiers"}, square(size), OUTPUT_RATE),
        (FEW, tiny(size), OUTPUT_RATE),
        ({WHY: tenth}, sentences(size), ATTENTION_RATE),
    ):
        yield {**notes, "data": tensor(*shape), "rate": rate}
    # Three layers of the language model have one mask for all of their steps, the first axis.
    data = tensor(size.extent(70, least=4), size.batch, 1150)
    yield {WHY: "AWD-LSTM, one mask for all steps", "data": data, "rate": 0.25, "axes": (0,)}


@FAMILIES.operation("embedding")
def embedding(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Vocabularies of language models, and a table of a recommender."""
    for why, words, width, looked_up in (
        ("BERT-base, word pieces of a batch of sentences", WORDS, UNITS, tokens(size)),
        ("GPT-2, byte pairs of a long text", 50_257, UNITS, (1, size.extent(1024))),
        # Rows far apart in a table that no cache holds: 26 features of each sample.
        ("DLRM on Criteo, rows of a table at random", 1_000_000, 16, (size.extent(2048), 26)),
    ):
        count = size.extent(words)
        data = fixed(*looked_up, fill=below(count), dtype=INDEX)
        yield {WHY: why, "data": data, "weight": tensor(count, width)}
    words, why = size.extent(WORDS), "BERT-base, word pieces as often as in text: few rows often"
    data = fixed(*tokens(size), fill=zipf(words), dtype=INDEX)
    yield {WHY: why, "data": data, "weight": tensor(words, UNITS)}


def lengths(size: Preset) -> TensorSpec:
    """A length for each sequence of the batch, none longer than the data."""
    steps, batch, _ = cube(size)
    return fixed(batch, fill=below(steps + 1, start=1))


SEQUENCES = {
    "sequence_mask": (
        "sequences of one length, of which nothing is masked: a copy",
        "a length for each sequence, as padding is kept out of a sum over time",
    ),
    "sequence_reverse": (
        "sequences of one length, as the backward half of a bidirectional LSTM reads them",
        "a length for each sequence, as a backward LSTM reads sentences before their padding",
    ),
}
"""Why each operation takes sequences of one length, and of a length each."""


@FAMILIES.operation(*SEQUENCES)
def sequence(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Sequences of one length, and of a length each, time along the first axis."""
    data = tensor(*cube(size))
    one, each = SEQUENCES[operation.name]
    yield {WHY: one, "data": data}
    yield {WHY: each, "data": data, "lengths": lengths(size)}


def outputs(size: Preset) -> tuple[tuple[str, Shape], ...]:
    """Shapes of outputs of layers, each with what it is."""
    return (
        ("a wide layer's output", square(size)),
        ("a few samples' output of a wide layer, which stays in cache", in_cache(size)),
    )


def classifiers(size: Preset) -> tuple[tuple[str, Shape], ...]:
    """Shapes of batches of scores, one for each class, each with what it is the output of."""
    return (
        ("a classifier of about a thousand classes (ImageNet)", square(size)),
        ("a classifier of ten classes (CIFAR-10)", slim(size)),
    )


def scores_and_labels(size: Preset) -> Iterable[Roles]:
    """Scores and the right class of each sample, of classifiers."""
    for why, shape in classifiers(size):
        samples, classes = shape
        yield {WHY: why, "data": tensor(*shape), "label": fixed(samples, fill=below(classes))}


@FAMILIES.operation("smooth_l1")
def smooth_l1(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Differences on both sides of where the loss becomes linear."""
    _, short = shapes(size)
    for why, shape in (
        ("offsets of an image's boxes, which stay in cache", in_cache(size)),
        ("offsets of many boxes, a short row for each, as Fast R-CNN", short),
    ):
        yield {WHY: why, "x": tensor(*shape), "sigma": 1.0}


@FAMILIES.operation("softmax_cross_entropy")
def softmax_cross_entropy(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A batch of scores against the right classes."""
    return scores_and_labels(size)


ROWS: dict[str, Row] = {
    "dropout_inference": lambda size: {
        WHY: "BERT-base predicting, vectors of tokens, none of which is dropped",
        "data": tensor(*sentences(size)),
        "rate": ATTENTION_RATE,
    },
    # At most a fifth as many characters as steps: labels fit with blanks between repeated ones.
    "ctc_loss": lambda size: {
        WHY: "speech: 28 letters and the blank at each step, as Deep Speech",
        "data": tensor(size.extent(200, least=20), size.batch, 29),
        "label": fixed(size.batch, size.extent(200, least=20) // 5, fill=below(29, start=1)),
    },
}
add_rows(FAMILIES.operation, ROWS)


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
    """Transformers that encode, that read and generate, of images, and with masks of both kinds."""
    batch, length = tokens(size)
    long, cached = size.extent(1024, least=32), size.extent(2048, least=64)
    read = size.extent(256, least=16)
    for made in (
        Heads("BERT-base, sentences of 128 tokens", batch, HEADS, length, length, WIDTH),
        Heads("GPT-2, one text of 1024 tokens, causal", 1, HEADS, long, long, WIDTH, causal=True),
        Heads("Llama 3 8B reading 256 tokens", 1, 32, read, read, 128, shared=4, causal=True),
        Heads("Llama 3 8B generating: one query to 2048 tokens", 1, 32, 1, cached, 128, shared=4),
        Heads("Llama 2 7B generating: one query to 2048 tokens", 1, 32, 1, cached, 128),
        Heads("Stable Diffusion, an image to 77 tokens", 1, 8, size.extent(4096, least=64), 77, 40),
    ):
        yield made.roles
    few = max(1, batch // 4)
    masked = Heads("BERT-base, padding masked", few, HEADS, length, length, WIDTH)
    mask = fixed(few, 1, 1, length, fill=PADDED, dtype="bool")
    yield {**masked.roles, "mask": mask}
    biased = Heads("T5-base, a bias for each distance of words", few, HEADS, length, length, WIDTH)
    yield {**biased.roles, "mask": fixed(1, HEADS, length, length), "scale": 1.0}
