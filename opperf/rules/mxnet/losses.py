"""Losses, output layers whose gradient is that of a loss, and the likelihood of events."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator
from opperf.rules.configurations import WHY
from opperf.rules.engine import Families
from opperf.rules.families.layers import scores, scores_and_labels
from opperf.rules.pictures import feature_maps
from opperf.rules.shapes import shapes, square
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    BOOLEAN,
    POSITIVE,
    PROBABILITY,
    ZEROS,
    Arguments,
    below,
    between,
    fixed,
    tensor,
)

FAMILIES = Families()


@FAMILIES.add("MakeLoss", "make_loss")
def make_loss(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A computed loss, of which the operator only sets the gradient."""
    for shape in shapes(size):
        yield {"data": tensor(*shape, fill=POSITIVE)}
    if operator.parameter("normalization") is not None:
        loss = tensor(*square(size), fill=POSITIVE)
        yield {"data": loss, "normalization": "batch", WHY: "the mean over the samples of a batch"}
        # About half of the losses are above the threshold.
        yield {
            "data": loss,
            "normalization": "valid",
            "valid_thresh": 1.25,
            WHY: "the mean over the samples whose loss counts, as in detection",
        }


@FAMILIES.add("SoftmaxOutput")
def softmax_output(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores and labels of whole samples, and of each pixel of a segmentation."""
    yield from map(scores_and_labels, scores(size))
    maps = feature_maps(size)
    batch, classes, *extents = maps
    yield {
        "data": tensor(*maps),
        "label": fixed(batch, *extents, fill=below(classes)),
        "multi_output": True,
    }


TARGET = between(-1.0, 1.0)
"""Fill of labels, other than that of predictions: equal specs make equal data, and where prediction
and label are equal the gradient is zero."""

TARGETS: dict[str, Fill] = {
    "LinearRegressionOutput": TARGET,
    "MAERegressionOutput": TARGET,
    "LogisticRegressionOutput": BOOLEAN,
}
"""Fills of a regression's labels."""


@FAMILIES.add(*TARGETS)
def regression(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Predictions and labels, several numbers for each sample."""
    for shape in shapes(size):
        yield {"data": tensor(*shape), "label": fixed(*shape, fill=TARGETS[operator.name])}


@FAMILIES.add("SVMOutput")
def svm_output(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores and labels, for the squared hinge loss and for the plain one."""
    for linear in (False, True):
        for shape in scores(size):
            yield {**scores_and_labels(shape), "use_linear": linear}


@FAMILIES.add("_contrib_hawkesll")
def hawkes(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Log likelihoods of sequences of events of four kinds, each of which makes others likelier."""
    marks, steps = 4, size.extent(512, least=8)
    longest = steps * POSITIVE.high
    yield {
        "lda": tensor(size.batch, marks, fill=POSITIVE),
        "alpha": tensor(marks, fill=PROBABILITY),
        "beta": tensor(marks, fill=POSITIVE),
        "state": tensor(size.batch, marks, fill=ZEROS),
        "lags": fixed(size.batch, steps, fill=POSITIVE),
        "marks": fixed(size.batch, steps, fill=below(marks), dtype="int32"),
        "valid_length": fixed(size.batch, fill=Fill("constant", float(steps))),
        "max_time": fixed(size.batch, fill=Fill("constant", longest)),
    }
