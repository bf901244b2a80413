"""Losses, output layers whose gradient is that of a loss, and the likelihood of events."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from opperf.model import Fill, Operator
from opperf.operations.uses import Table, use
from opperf.rules.configurations import PHASE, WHY
from opperf.rules.deviations import OF_LOSS
from opperf.rules.families.layers import scores_and_labels
from opperf.rules.image_shapes import feature_maps
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import Shape, in_cache, square
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
    zipf,
)

PREDICTION = use("identity", "x=data -label -use_linear")

OPERATIONS: Table = {
    "CTCLoss": use("ctc_loss", "data label"),
    # The output of an output layer is the prediction; the label affects the gradient alone.
    "LinearRegressionOutput": PREDICTION,
    "LogisticRegressionOutput": use("sigmoid", "x=data -label"),
    "MAERegressionOutput": PREDICTION,
    "SVMOutput": PREDICTION,
    "SoftmaxOutput": use(
        "softmax", "data -label -multi_output -use_ignore -ignore_label -out_grad", axis=1
    ),
    "smooth_l1": use("smooth_l1", "x=data sigma=scalar"),
    "softmax_cross_entropy": use("softmax_cross_entropy", "data label"),
}

FAMILIES = Families()

DIFFERENCES = dict.fromkeys(
    (
        *("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"),
        *("SVMOutput", "SoftmaxOutput", "MakeLoss", "make_loss"),
    ),
    OF_LOSS,
)


@FAMILIES.add("MakeLoss", "make_loss", replaces="its input is a loss, whose gradient it sets")
def make_loss(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A computed loss, of which the operator only sets the gradient."""
    long, few = square(size), in_cache(size)
    for why, shape in (
        ("losses of a wide output, as an autoencoder's, whose gradient is a constant", long),
        ("a loss for each of a few samples' numbers, which stay in cache", few),
    ):
        yield {WHY: why, "data": tensor(*shape, fill=POSITIVE)}
    if operator.parameter("normalization") is not None:
        loss = tensor(*square(size), fill=POSITIVE)
        # About half of the losses are above the threshold.
        why = "the mean over the samples whose loss counts, for detection"
        yield {"data": loss, "normalization": "valid", "valid_thresh": 1.25, WHY: why}


@FAMILIES.add("SoftmaxOutput", replaces="its gradient is that of a loss, which labels decide")
def softmax_output(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores and labels of whole samples, and of each pixel of a segmentation."""
    yield from scores_and_labels(size)
    long, *_ = scores_and_labels(size)
    # oneDNN computes it in the predict phase alone.
    yield {**long, PHASE: "train", WHY: "a classifier of about a thousand classes, training"}
    words = (size.extent(1120), size.extent(10000))
    text: Arguments = {"data": tensor(*words), "label": fixed(words[0], fill=zipf(words[1]))}
    why = "an LSTM's words of Penn Treebank's 10000, the most frequent ignored as padding is"
    yield {**text, "use_ignore": True, "ignore_label": 0, WHY: why}
    yield {**long, "out_grad": True, WHY: "a classifier whose samples have weights"}
    maps = feature_maps(size)
    batch, classes, *extents = maps
    label = fixed(batch, *extents, fill=below(classes))
    why = "the classes of each pixel, as a network segments images"
    yield {WHY: why, "data": tensor(*maps), "label": label, "multi_output": True}


TARGET = between(-1.0, 1.0)
"""Fill of labels, other than predictions': equal specs make equal data, and a gradient of zero."""

CACHED = "a small batch, cached"


class Regression(NamedTuple):
    """The inputs of a regression."""

    labels: Fill
    large: str
    """Why there are several numbers for each sample."""
    other: str
    """Why another shape is measured."""
    shape: Callable[[Preset], Shape] = in_cache
    """That shape."""


REGRESSIONS = {
    "LinearRegressionOutput": Regression(
        TARGET,
        "squared differences of a large batch, as an autoencoder's",
        f"squared differences of {CACHED}, as an autoencoder's",
    ),
    "MAERegressionOutput": Regression(
        TARGET,
        "absolute differences of a large batch, like restored images",
        f"absolute differences of {CACHED}, like restored images",
    ),
    "LogisticRegressionOutput": Regression(
        BOOLEAN,
        "a yes or no for each of about a thousand tags of a large batch",
        "a click or none for each of many ads: one column",
        lambda size: (size.extent(16384), 1),
    ),
}


@FAMILIES.add(*REGRESSIONS, replaces="its gradient is that of a loss, which labels decide")
def regression(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Predictions and labels, several numbers or one for each sample."""
    one = entry_of(REGRESSIONS, operator)
    for shape, why in ((square(size), one.large), (one.shape(size), one.other)):
        yield {"data": tensor(*shape), "label": fixed(*shape, fill=one.labels), WHY: why}


@FAMILIES.add("SVMOutput", replaces="its gradient is that of a loss, which labels decide")
def svm_output(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores and labels, for the squared hinge loss and for the plain one."""
    rows = list(scores_and_labels(size))
    for linear, loss, shown in (
        (False, "squared hinge loss", rows),
        (True, "hinge loss", rows[:1]),
    ):
        for made in shown:
            yield {**made, "use_linear": linear, WHY: f"{loss} of {made[WHY]}"}


@FAMILIES.add("_contrib_hawkesll")
def hawkes(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Log likelihoods of sequences of events, each of which makes others likelier."""
    marks, steps = 4, size.extent(512, least=8)
    # Little above the sum of the lags: much later, nothing is left of what events have raised.
    spread = math.sqrt(steps / 12) * (POSITIVE.high - POSITIVE.low)
    longest = steps * (POSITIVE.low + POSITIVE.high) / 2 + 4 * spread
    yield {
        WHY: "sequences of events of four kinds, as orders in a market that make others likelier",
        "lda": tensor(size.batch, marks, fill=POSITIVE),
        "alpha": tensor(marks, fill=PROBABILITY),
        "beta": tensor(marks, fill=POSITIVE),
        "state": tensor(size.batch, marks, fill=ZEROS),
        "lags": fixed(size.batch, steps, fill=POSITIVE),
        "marks": fixed(size.batch, steps, fill=below(marks), dtype="int32"),
        "valid_length": fixed(size.batch, fill=Fill("constant", float(steps))),
        "max_time": fixed(size.batch, fill=Fill("constant", longest)),
    }
