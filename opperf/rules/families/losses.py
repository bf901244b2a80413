"""Losses: of predictions, scores and probabilities against what is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from opperf.model import Fill
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import UNITS
from opperf.rules.configurations import WHY
from opperf.rules.families.layers import classifiers
from opperf.rules.registering import Families
from opperf.rules.shapes import FEW, Shape, square, tall, tiny
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    BOOLEAN,
    NORMAL,
    POSITIVE,
    PROBABILITY,
    SIGNS,
    SIMPLEX,
    below,
    between,
    call,
    fixed,
    literal,
    tensor,
)
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

LABEL = "int64"
"""Dtype of the numbers of classes."""

TARGET = between(-1.0, 1.0)
"""Another fill than the predictions', as equal specs make equal data of some frameworks."""
LOG_PROBABILITY = between(-6.0, -1.0)
DISTANCE = between(0.0, 2.0)
"""Of pairs: half of them are further apart than a margin of one."""
COUNTS = below(8)


class Pair(NamedTuple):
    """Fills of the two tensors of one shape that a loss compares."""

    left: Fill
    right: Fill
    wide: str
    narrow: str
    """Why it has long rows, and why short ones whose losses are not reduced."""
    fixed_roles: Roles = {}


PAIRS: dict[str, Pair] = {
    "absolute_error_loss": Pair(
        NORMAL, TARGET, "restored images: one mean", "landmarks of many faces, a loss each"
    ),
    "squared_error_loss": Pair(
        NORMAL, TARGET, "a diffusion model's noise: one mean", "returns of states, a loss each"
    ),
    "huber_loss": Pair(
        NORMAL, TARGET, "action values, as DQN: one mean", "offsets of many boxes, a loss each"
    ),
    "smooth_l1_loss": Pair(
        NORMAL, TARGET, "mostly small differences: one mean", "boxes in Fast R-CNN, a loss each"
    ),
    "soft_margin_loss": Pair(
        NORMAL, SIGNS, "a thousand tags, yes or no: one mean", "yes or no of samples, a loss each"
    ),
    "hinge_embedding_loss": Pair(
        DISTANCE, SIGNS, "distances in metric learning: one mean", "pairs to mine, a loss each"
    ),
    "binary_cross_entropy": Pair(
        PROBABILITY, BOOLEAN, "a VAE's pixels of digits: one mean", "a GAN's verdicts, a loss each"
    ),
    "binary_cross_entropy_of_logits": Pair(
        NORMAL, BOOLEAN, "a thousand tags per sample: one mean", "boxes' objectness, a loss each"
    ),
    "kl_divergence": Pair(
        LOG_PROBABILITY,
        SIMPLEX,
        "a student's log probabilities against a teacher's, a thousand classes: one mean",
        "distributions of a hundred classes, a loss for each class",
        {"is_log": False},
    ),
    "poisson_loss": Pair(
        NORMAL,
        COUNTS,
        "logarithms of rates against counts, like spikes of neurons: one mean",
        "logarithms of rates of many series, a loss each",
        {"is_log": True, "full": False, "epsilon": 1e-8},
    ),
}

NONE, MEAN = "none", "mean"


def of_pair(one: Pair, shape: Shape, reduction: str, why: str) -> Roles:
    """One configuration of a loss of two tensors."""
    return {
        "x": tensor(*shape, fill=one.left),
        "y": fixed(*shape, fill=one.right),
        **one.fixed_roles,
        "reduction": reduction,
        WHY: why,
    }


@FAMILIES.operation(*PAIRS)
def pair(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Long rows and one mean, short ones with a loss for each element, and few elements."""
    one = PAIRS[operation.name]
    yield of_pair(one, square(size), MEAN, one.wide)
    yield of_pair(one, tall(size), NONE, one.narrow)
    yield {**of_pair(one, tiny(size), MEAN, ""), **FEW}
    if operation.name in FURTHER:
        for further in FURTHER[operation.name](size):
            yield {**of_pair(one, square(size), MEAN, ""), **further}


def of_weights(size: Preset) -> Iterable[Roles]:
    """A weight for each element."""
    yield {"weight": fixed(*square(size), fill=POSITIVE), WHY: "a weight for each label"}


FURTHER: dict[str, Callable[[Preset], Iterable[Roles]]] = {
    "binary_cross_entropy": of_weights,
    "binary_cross_entropy_of_logits": lambda size: (
        *of_weights(size),
        {
            "positive_weight": fixed(square(size)[1], fill=POSITIVE),
            WHY: "a weight of the positives of each tag, as where they are rare",
        },
    ),
    "huber_loss": lambda size: ({"delta": 0.1, WHY: "most differences on the straight lines"},),
    "smooth_l1_loss": lambda size: ({"beta": 1 / 9, WHY: "a narrow parabola, like Mask R-CNN"},),
    "kl_divergence": lambda size: (
        {
            "y": fixed(*square(size), fill=LOG_PROBABILITY),
            "is_log": True,
            WHY: "both as logarithms, as distillation of language models: exponentials too",
        },
    ),
    "poisson_loss": lambda size: (
        {
            "x": tensor(*square(size), fill=POSITIVE),
            "is_log": False,
            "full": True,
            WHY: "rates and all terms of the likelihood, with Stirling's approximation",
        },
    ),
}
"""Options of a loss of two tensors that change its work."""


@FAMILIES.operation("margin_ranking_loss")
def margin_ranking(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Scores of many pairs, and few."""
    ranked = "scores of pairs of documents, a loss each, as learning to rank"
    for notes, shape, reduction in (
        ({WHY: "scores of pairs of answers, as a reward model's: one mean"}, square(size), MEAN),
        ({WHY: ranked}, tall(size), NONE),
        (FEW, tiny(size), MEAN),
    ):
        yield {
            "x": tensor(*shape),
            "y": tensor(*shape, fill=TARGET),
            "order": fixed(*shape, fill=SIGNS),
            "reduction": reduction,
            "margin": 0.1,
            **notes,
        }


FACES = 128
"""Length of FaceNet's vectors."""

NEGATIVE = between(-1.1, 1.1)
"""Little further from the anchors than positive examples, so that most triplets have a loss."""


@FAMILIES.operation("triplet_margin_loss")
def triplet_margin(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Vectors of faces and of sentences."""
    many, width = size.extent(4096), UNITS
    for why, shape, swap, reduction in (
        ("FaceNet, vectors of 128 elements of many triplets of faces", FACES, False, MEAN),
        ("triplets of sentences' vectors of 768 elements, as Sentence-BERT", width, False, MEAN),
        ("the nearer of two distances to the negative, as HardNet, a loss each", FACES, True, NONE),
    ):
        yield {
            "anchor": tensor(many, shape),
            "positive": tensor(many, shape, fill=TARGET),
            "negative": tensor(many, shape, fill=NEGATIVE),
            "margin": 1.0,
            "order": 2.0,
            "epsilon": 1e-6,
            "swap": swap,
            "reduction": reduction,
            WHY: why,
        }


@FAMILIES.operation("multi_margin_loss")
def multi_margin(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Scores of classifiers and the right classes."""
    for why, shape in classifiers(size):
        yield {**labelled(shape, NORMAL), "reduction": MEAN, WHY: f"hinge loss, {why}"}
    wide, weight = labelled(square(size), NORMAL), fixed(square(size)[1], fill=POSITIVE)
    yield {**wide, "reduction": NONE, "power": 2, WHY: "squared hinge loss, for a linear SVM"}
    yield {**wide, "reduction": MEAN, "weight": weight, WHY: "hinge loss, weights for rare classes"}


TAGS = below(8, start=-1)
"""A sample's right classes, which end at the first -1: eight on average."""
VOCABULARY = 50_257
"""Byte pairs of GPT-2."""
VOC = 21
"""Classes of Pascal VOC, the background among them."""


def segmentation(size: Preset) -> Shape:
    """Shape of the scores of each pixel's class, of a few images."""
    return (size.samples(4), VOC, size.side(128), size.side(128))


def labelled(shape: Shape, fill: Fill) -> Roles:
    """Scores of classes along the second axis, and the right class of each place."""
    samples, classes, *extents = shape
    label = fixed(samples, *extents, fill=below(classes), dtype=LABEL)
    return {"data": tensor(*shape, fill=fill), "label": label}


@FAMILIES.operation("cross_entropy", "negative_log_likelihood")
def cross_entropy(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Classifiers, a language model and images, with weights, ignored classes, smoothed labels."""
    fill = NORMAL if operation.name == "cross_entropy" else LOG_PROBABILITY
    for why, shape in classifiers(size):
        yield {**labelled(shape, fill), "reduction": MEAN, WHY: why}
    words = (size.extent(256), size.extent(VOCABULARY))
    yield {**labelled(words, fill), "reduction": MEAN, WHY: "GPT-2, the next token of 50257"}
    why = "the class of each pixel but those of one class, as FCN segments images"
    yield {**labelled(segmentation(size), fill), "reduction": MEAN, "ignored": 0, WHY: why}
    wide, weight = labelled(square(size), fill), fixed(square(size)[1], fill=POSITIVE)
    yield {**wide, "reduction": NONE, "weight": weight, WHY: "a weight for each class, a loss each"}
    if operation.name == "cross_entropy":
        yield {**wide, "reduction": MEAN, "smoothing": 0.1, WHY: "labels smoothed by a tenth"}


LETTERS = 29
"""Symbols of speech: 28 letters and the blank."""
PHONES = 40
"""Phones of English and the blank."""


@FAMILIES.operation("ctc_loss_of_log_probabilities")
def ctc_loss(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Sequences by length, of a fifth as many symbols as steps: blanks part repeated ones."""
    for why, symbols, default, reduction in (
        ("Deep Speech, 28 letters and the blank at each step: one mean", LETTERS, 200, MEAN),
        ("longer speech by phones, a loss each", PHONES, 400, NONE),
    ):
        steps, batch = size.extent(default, least=20), size.samples(16)
        longest = steps // 5
        counts = [steps - 3 * i % (steps // 2) for i in range(batch)]
        lengths = [longest - i % (longest // 2) for i in range(batch)]
        yield {
            "log_probabilities": tensor(steps, batch, symbols, fill=LOG_PROBABILITY),
            "label": fixed(batch, longest, fill=below(symbols, start=1), dtype=LABEL),
            "steps": fixed(batch, fill=literal(counts), dtype=LABEL),
            "lengths": fixed(batch, fill=literal(lengths), dtype=LABEL),
            "reduction": reduction,
            WHY: why,
        }


VARIANTS: dict[str, Variants] = {
    "cosine_embedding_loss": lambda size: {
        why: call(
            x=tensor(*shape),
            y=tensor(*shape, fill=TARGET),
            sign=fixed(shape[0], fill=SIGNS),
            reduction=reduction,
            margin=0.1,
        )
        for why, shape, reduction in (
            ("pairs of sentences' vectors, alike or not: one mean", square(size), MEAN),
            ("many pairs of short vectors, users and items, a loss each", tall(size), NONE),
        )
    },
    "multilabel_margin_loss": lambda size: {
        why: call(
            data=tensor(size.extent(256), classes),
            label=fixed(size.extent(256), classes, fill=TAGS, dtype=LABEL),
            reduction=reduction,
        )
        for why, classes, reduction in (
            ("some of a thousand tags of each image: one mean", size.extent(1000, least=16), MEAN),
            ("some of the 80 kinds of objects in COCO's images, a loss each", 80, NONE),
        )
    },
}
add_rows(FAMILIES.operation, VARIANTS)
