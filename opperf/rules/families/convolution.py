"""Convolution, transposed convolution, pooling, and conversions between images and columns."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.engine import Families
from opperf.rules.pictures import (
    FILTERS,
    Window,
    coarse_maps,
    feature_maps,
    images,
    photographs,
    signals,
    video,
)
from opperf.rules.sizes import Preset
from opperf.rules.values import tensor

FAMILIES = Families()

SCALE = 2
"""Factor by which signals and maps are enlarged."""
DILATION = 2


def sliding_roles(window: Window) -> Roles:
    """Stride, dilation and padding of a window."""
    return {
        "stride": window.along(window.stride),
        "dilation": window.along(window.dilate),
        "padding": window.along(window.pad),
    }


def group_roles(window: Window) -> Roles:
    """Number of groups of channels, where there are several."""
    return {"groups": window.groups} if window.groups > 1 else {}


def layer(window: Window) -> Roles:
    """A convolution's inputs."""
    inputs = window.shape[1] // window.groups
    return {
        "data": tensor(*window.shape),
        "weight": tensor(window.filters, inputs, *window.along(window.kernel)),
        "bias": tensor(window.filters),
        **sliding_roles(window),
        **group_roles(window),
    }


@FAMILIES.operation("convolution")
def convolution(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Signals and images, as a first layer takes them, then the layers of real networks."""
    maps = feature_maps(size)
    return map(
        layer,
        (
            Window(signals(size)),
            Window(images(size)),
            # ResNet-50 on ImageNet: its first layer, its bottlenecks' narrowing layer, their
            # 3 x 3 layer and the one that halves the map.
            Window(photographs(size), kernel=7, stride=2, pad=3),
            Window(feature_maps(size, 4 * FILTERS), kernel=1),
            Window(maps, pad=1),
            Window(maps, filters=2 * FILTERS, stride=2, pad=1),
            # ResNeXt's groups, MobileNet's one filter for each channel, DeepLab's dilation.
            Window(maps, pad=1, groups=32),
            Window(maps, pad=1, groups=FILTERS),
            Window(maps, pad=DILATION, dilate=DILATION),
            Window(video(size), pad=1),
        ),
    )


@FAMILIES.operation("deconvolution")
def deconvolution(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A layer that enlarges signals, a generator's (DCGAN), and a segmentation's (FCN), which
    enlarges the map of each of the 21 classes separately."""
    classes = 21
    for window in (
        Window(signals(size), stride=SCALE),
        Window(coarse_maps(size, 2 * FILTERS), kernel=2 * SCALE, stride=SCALE, pad=1),
        Window(
            coarse_maps(size, classes),
            filters=classes,
            kernel=2 * SCALE,
            stride=SCALE,
            pad=1,
            groups=classes,
        ),
    ):
        yield {
            "data": tensor(*window.shape),
            "weight": tensor(
                window.shape[1], window.filters // window.groups, *window.along(window.kernel)
            ),
            "bias": tensor(window.filters),
            **sliding_roles(window),
            **group_roles(window),
        }


POOLS = ("avg", "max", "sum")
"""Kinds of pooling."""


def pools(window: Window) -> Iterable[Roles]:
    """The inputs of every kind of pooling by a window."""
    for kind in POOLS:
        yield {
            "data": tensor(*window.shape),
            "kernel": window.along(window.kernel),
            "stride": window.along(window.stride),
            "padding": window.along(window.pad),
            "kind": kind,
        }


@FAMILIES.operation("pooling")
def pooling(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Signals and images, as a first layer takes them."""
    yield from pools(Window(signals(size), pad=1))
    yield from pools(Window(images(size)))


@FAMILIES.operation("adaptive_average_pooling")
def adaptive_pooling(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Feature maps, pooled to one number for each channel, as in classifiers, and to the grids of
    PSPNet."""
    for cells in (1, 2, 3, 6):
        yield {"data": tensor(*feature_maps(size)), "output_size": (cells, cells)}


@FAMILIES.operation("im2col")
def im2col(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A 3 x 3 layer of ResNet-50's first stage, as columns for a convolution by matrix product."""
    window = Window(feature_maps(size), pad=1)
    yield {
        "data": tensor(*window.shape),
        "kernel": window.along(window.kernel),
        **sliding_roles(window),
    }


@FAMILIES.operation("col2im")
def col2im(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Columns of a 3 x 3 layer of ResNet-50's first stage, as `im2col` returns them."""
    window = Window(feature_maps(size), pad=1)
    batch, channels, *extents = window.shape
    kernel = window.along(window.kernel)
    yield {
        "data": tensor(batch, channels * math.prod(kernel), math.prod(window.positions)),
        "output_size": tuple(extents),
        "kernel": kernel,
        **sliding_roles(window),
    }
