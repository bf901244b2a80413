"""Normalisation layers and softmax."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import UNITS, scores, sentences
from opperf.rules.engine import Families
from opperf.rules.pictures import feature_maps, images
from opperf.rules.shapes import Shape, square, wide
from opperf.rules.sizes import Preset
from opperf.rules.values import AT_LEAST_SINGLE, BOOLEAN, POSITIVE, REQUESTED, fixed, tensor

FAMILIES = Families()

GROUPS = 32
"""Groups of channels, as many as group normalisation was proposed with."""


def data_scale_and_shift(shape: Shape, features: int, dtype: str = REQUESTED) -> Roles:
    """Data with the scale and shift that are learned for each feature."""
    return {
        "data": tensor(*shape),
        "scale": tensor(features, fill=POSITIVE, dtype=dtype),
        "shift": tensor(features, dtype=dtype),
    }


@FAMILIES.operation("batch_norm", "batch_norm_relu")
def batch_norm(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Images, as the first layer of a network takes them, and a ResNet's feature maps."""
    for shape in (images(size), feature_maps(size)):
        yield data_scale_and_shift(shape, shape[1], AT_LEAST_SINGLE)


@FAMILIES.operation("layer_norm")
def layer_norm(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """BERT-base's sentences, token by token."""
    yield {**data_scale_and_shift(sentences(size), UNITS), "axis": -1}


@FAMILIES.operation("instance_norm")
def instance_norm(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Images, as in style transfer, and a ResNet's feature maps."""
    for shape in (images(size), feature_maps(size)):
        yield data_scale_and_shift(shape, shape[1])


@FAMILIES.operation("group_norm")
def group_norm(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A ResNet's feature maps, channels in groups."""
    shape = feature_maps(size)
    yield {**data_scale_and_shift(shape, shape[1]), "groups": GROUPS}


@FAMILIES.operation("unit_length")
def unit_length(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Feature maps, normalised as a whole, across channels (as in SSD), and within each channel."""
    for axes in ((1, 2, 3), (1,), (2, 3)):
        yield {"data": tensor(*feature_maps(size)), "axes": axes}


@FAMILIES.operation("local_response_norm")
def local_response(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """AlexNet's first feature maps, normalised across five neighbouring channels."""
    yield {
        "data": tensor(*feature_maps(size, 96)),
        "alpha": 1e-4,
        "beta": 0.75,
        "offset": 2.0,
        "channels": 5,
    }


@FAMILIES.operation("softmax", "log_softmax", "softmin")
def softmax(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Scores, those of BERT-base's heads among them, along the last axis; and a matrix along its
    first, where neighbours are apart in memory."""
    for shape in (*wide(size), scores(size)):
        yield {"data": tensor(*shape), "axis": -1}
    yield {"data": tensor(*square(size)), "axis": 0}


@FAMILIES.operation("masked_softmax", "masked_log_softmax")
def masked_softmax(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Scores of BERT-base's heads, half of them masked."""
    shape = scores(size)
    yield {"data": tensor(*shape), "mask": fixed(*shape, fill=BOOLEAN, dtype="bool"), "axis": -1}
