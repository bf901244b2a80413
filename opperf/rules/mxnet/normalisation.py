"""Normalisation layers."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.engine import Families
from opperf.rules.mxnet.bert import UNITS, sentences
from opperf.rules.mxnet.convolution import feature_maps, images
from opperf.rules.shapes import Shape, shapes
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    AT_LEAST_SINGLE,
    ONES,
    POSITIVE,
    PROBABILITY,
    ZEROS,
    Arguments,
    fixed,
    tensor,
)

FAMILIES = Families()

GROUPS = 32
"""Groups of channels, as many as group normalisation was proposed with."""


def scaled(shape: Shape, features: int) -> Arguments:
    """Data with the scale and shift that are learned for each feature."""
    return {
        "data": tensor(*shape),
        "gamma": tensor(features, fill=POSITIVE),
        "beta": tensor(features),
    }


def with_statistics(shape: Shape) -> Arguments:
    """Data, scale and shift, and the running statistics, which take no gradient."""
    channels = shape[1]
    return {
        "data": tensor(*shape),
        "gamma": tensor(channels, fill=POSITIVE, dtype=AT_LEAST_SINGLE),
        "beta": tensor(channels, dtype=AT_LEAST_SINGLE),
        "moving_mean": fixed(channels, fill=ZEROS, dtype=AT_LEAST_SINGLE),
        "moving_var": fixed(channels, fill=ONES, dtype=AT_LEAST_SINGLE),
        "fix_gamma": False,
    }


@FAMILIES.add("BatchNorm", "_contrib_BatchNormWithReLU")
def batch_norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Images, as MXNet's users know them, and a ResNet's feature maps."""
    for shape in (images(size), feature_maps(size)):
        yield {**with_statistics(shape), "axis": 1}


@FAMILIES.add("BatchNorm_v1")
def first_batch_norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `batch_norm`, of which it is an earlier form: channels are always the second axis."""
    for shape in (images(size), feature_maps(size)):
        yield with_statistics(shape)


@FAMILIES.add("IdentityAttachKLSparseReg")
def sparse_activations(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Activations between 0 and 1, and the mean that each had so far; backward adds what makes
    them sparse."""
    for shape in shapes(size):
        yield {
            "data": tensor(*shape, fill=PROBABILITY),
            "moving_avg": fixed(shape[1], fill=PROBABILITY),
        }


@FAMILIES.add("_contrib_SyncBatchNorm")
def sync_batch_norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `batch_norm`, on one device: it waits for no other. Layers of one key share memory
    for as long as the process lives, so that each width needs its own."""
    for shape in (images(size), feature_maps(size)):
        yield {**with_statistics(shape), "ndev": 1, "key": f"opperf-{shape[1]}"}


@FAMILIES.add("LayerNorm")
def layer_norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """BERT-base's sentences, token by token."""
    yield {**scaled(sentences(size), UNITS), "axis": -1}


@FAMILIES.add("InstanceNorm")
def instance_norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Each channel of each image, as style transfer does, and feature maps."""
    for shape in (images(size), feature_maps(size)):
        yield scaled(shape, shape[1])


@FAMILIES.add("GroupNorm")
def group_norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A ResNet's feature maps, channels in groups.

    MXNet 1 learns a scale for each group, MXNet 2, where `npx` has the operator too, one for
    each channel.
    """
    shape = feature_maps(size)
    features = shape[1] if "_npx_group_norm" in operator.names else GROUPS
    yield {**scaled(shape, features), "num_groups": GROUPS}


@FAMILIES.add("L2Normalization")
def l2_normalization(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps to unit length: whole, across channels (as SSD does), in the plane."""
    for mode in ("instance", "channel", "spatial"):
        yield {"data": tensor(*feature_maps(size)), "mode": mode}


@FAMILIES.add("LRN")
def local_response(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """AlexNet's: across five neighbouring channels of its first feature maps."""
    yield {
        "data": tensor(*feature_maps(size, 96)),
        "alpha": 1e-4,
        "beta": 0.75,
        "knorm": 2.0,
        "nsize": 5,
    }
