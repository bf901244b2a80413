"""Losses, and output layers that have one in their gradient."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, Operator
from opperf.rules.engine import Families
from opperf.rules.mxnet.convolution import feature_maps
from opperf.rules.shapes import Shape, shapes, slim, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    BOOLEAN,
    POSITIVE,
    Arguments,
    below,
    between,
    fixed,
    tensor,
)

FAMILIES = Families()


def scores(size: Preset) -> tuple[Shape, Shape, Shape]:
    """Shapes of a batch of scores, one for each class: a thousand classes, ten, a hundred."""
    return (square(size), slim(size), tall(size))


def classified(shape: Shape) -> Arguments:
    """Scores and the right class of each sample."""
    samples, classes = shape
    return {"data": tensor(*shape), "label": fixed(samples, fill=below(classes))}


@FAMILIES.add("smooth_l1")
def smooth_l1(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Differences on both sides of where the loss becomes linear."""
    for shape in shapes(size):
        yield {"data": tensor(*shape), "scalar": 1.0}


@FAMILIES.add("CTCLoss")
def ctc_loss(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Speech: 28 characters and the blank, at most a fifth as many characters as steps, so
    that every label fits with the blanks between repeated characters."""
    symbols = 29
    steps = size.extent(200, least=20)
    yield {
        "data": tensor(steps, size.batch, symbols),
        "label": fixed(size.batch, steps // 5, fill=below(symbols, start=1)),
    }


@FAMILIES.add("MakeLoss", "make_loss")
def make_loss(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A loss that is there already: only its gradient is set."""
    for shape in shapes(size):
        yield {"data": tensor(*shape, fill=POSITIVE)}


@FAMILIES.add("softmax_cross_entropy")
def softmax_cross_entropy(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A batch of scores against the right classes."""
    return map(classified, scores(size))


@FAMILIES.add("SoftmaxOutput")
def softmax_output(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Whole samples, and each pixel of a segmentation."""
    yield from map(classified, scores(size))
    maps = feature_maps(size)
    batch, classes, *extents = maps
    yield {
        "data": tensor(*maps),
        "label": fixed(batch, *extents, fill=below(classes)),
        "multi_output": True,
    }


TARGET = between(-1.0, 1.0)
"""Not filled as the predictions are: tensors that are specified alike hold the same data, and
where prediction and label agree the gradient is zero."""

TARGETS: dict[str, Fill] = {
    "LinearRegressionOutput": TARGET,
    "MAERegressionOutput": TARGET,
    "LogisticRegressionOutput": BOOLEAN,
}
"""What a regression's labels are."""


@FAMILIES.add(*TARGETS)
def regression(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Several numbers for each sample."""
    for shape in shapes(size):
        yield {"data": tensor(*shape), "label": fixed(*shape, fill=TARGETS[operator.name])}


@FAMILIES.add("SVMOutput")
def svm_output(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """With the squared hinge and with the plain one."""
    for linear in (False, True):
        for shape in scores(size):
            yield {**classified(shape), "use_linear": linear}
