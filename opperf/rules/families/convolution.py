"""Convolution, transposed convolution, pooling, and conversions between images and columns."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import DEPTHWISE, FORM, MAPS, PAPER, POINTWISE, TAGS, WHY
from opperf.rules.image_shapes import Window, feature_maps, network_maps, photographs, video
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

DILATION = 2


def sliding_roles(window: Window) -> Roles:
    """Stride, dilation and padding of a window."""
    return {
        "stride": window.along(window.stride),
        "dilation": window.along(window.dilate),
        "padding": window.along(window.pad),
    }


def layer(window: Window, biased: bool = True) -> Roles:
    """A convolution's inputs, with a bias where no normalisation follows."""
    inputs = window.shape[1] // window.groups
    return {
        "data": tensor(*window.shape),
        "weight": tensor(window.filters, inputs, *window.along(window.kernel)),
        **({"bias": tensor(window.filters)} if biased else {}),
        **sliding_roles(window),
        **({"groups": window.groups} if window.groups > 1 else {}),
    }


def text(size: Preset) -> Shape:
    """Shape of a batch of sentences as Kim's classifier takes them, words of 300 numbers."""
    return (size.batch, 300, size.extent(50, least=8))


@FAMILIES.operation("convolution")
def convolution(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Layers of networks for images, then of one for text and of one for video."""
    grouped = feature_maps(size, 128)
    # Half of the images, or a quarter, where a layer takes long.
    halved = network_maps(size, 128, 56, 56, samples=4, multiple=2)
    fourth = network_maps(size, 512, 7, 7, samples=4)
    eighth, sixteenth = network_maps(size, 256, 28, 28, samples=2), network_maps(size, 512, 14, 14)
    for why, window, biased in (
        ("ResNet-50, the first layer", Window(photographs(size), kernel=7, stride=2, pad=3), False),
        ("ResNet-50, stage 1, narrowing", Window(feature_maps(size, 256), kernel=1), False),
        ("ResNet-50, stage 1, 3 x 3", Window(feature_maps(size), pad=1), False),
        ("ResNet-50, stage 2, halving the map", Window(halved, 128, stride=2, pad=1), False),
        ("ResNet-50, stage 4, 3 x 3", Window(fourth, 512, pad=1), False),
        ("ResNeXt-50 (32 x 4d), stage 1", Window(grouped, 128, pad=1, groups=32), False),
        ("MobileNet, depthwise", Window(sixteenth, 512, pad=1, groups=512), False),
        ("MobileNet, pointwise", Window(sixteenth, 512, kernel=1), False),
        ("DeepLab, stage 3, dilated", Window(eighth, 256, pad=DILATION, dilate=DILATION), False),
        ("RetinaNet, the head on one level", Window(eighth, 256, pad=1), True),
        ("TextCNN, five words at a time", Window(text(size), 100, kernel=5), True),
        ("C3D, the first layer, of images half as wide", Window(video(size), pad=1), True),
    ):
        kinds = (POINTWISE, window.kernel == 1), (DEPTHWISE, window.groups == window.filters)
        maps = MAPS, window.pad == 1 and window.groups < window.filters and not biased
        tags = tuple(tag for tag, is_so in (*kinds, maps) if is_so)
        yield {WHY: why, TAGS: tags, **layer(window, biased)}


@FAMILIES.operation("pooling")
def pooling(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Layers of networks for images, then of one for sound and of one for video."""
    maps = functools.partial(network_maps, size)
    for why, kind, window in (
        ("ResNet, first pooling", "max", Window(maps(64, 112, 112), kernel=3, stride=2, pad=1)),
        ("VGG-16, block 2", "max", Window(maps(128, 112, 112, multiple=2), kernel=2, stride=2)),
        ("DenseNet-121, transition 1", "avg", Window(feature_maps(size, 128), kernel=2, stride=2)),
        ("Inception v3, blocks of 35 x 35", "avg", Window(maps(192, 35, 35), kernel=3, pad=1)),
        ("Inception v3, between blocks", "max", Window(maps(288, 35, 35), kernel=3, stride=2)),
        ("M5, on sound in 1D", "max", Window(maps(128, 2000, multiple=4), kernel=4, stride=4)),
        (
            "C3D, after the second layer",
            "max",
            Window(maps(128, 16, 56, 56, samples=1, multiple=2), kernel=2, stride=2),
        ),
    ):
        yield {
            WHY: why,
            "data": tensor(*window.shape),
            "kernel": window.along(window.kernel),
            "stride": window.along(window.stride),
            "padding": window.along(window.pad),
            "kind": kind,
        }


@FAMILIES.operation("max_pooling")
def max_pooling(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The layers of maxima, and one whose last windows reach beyond the map."""
    for made in pooling(operation, size):
        if made["kind"] == "max":
            yield {name: value for name, value in made.items() if name != "kind"}
    window = Window(network_maps(size, 192, 56, 56), kernel=3, stride=2)
    yield {
        WHY: "GoogLeNet, in front of its inception blocks, with partial windows at the ends",
        "data": tensor(*window.shape),
        "kernel": window.along(window.kernel),
        "stride": window.along(window.stride),
        "padding": window.along(0),
        "ceil": True,
    }


@FAMILIES.operation("adaptive_average_pooling")
def adaptive_pooling(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Maps pooled to one number, and to PSPNet's grid, of an eighth of the image's extents."""
    pyramid = network_maps(size, 2048, 60, 60, samples=1)
    for shape, cells, why in (
        (feature_maps(size), 1, "squeeze and excitation: each map to one number"),
        (network_maps(size, 2048, 7, 7), 1, "ResNet-50, before the classifier: small maps"),
        (pyramid, 6, "PSPNet, the finest level of its pyramid, 6 x 6 cells"),
    ):
        tags = (MAPS,) if shape[1] != 2048 or cells == 6 else ()
        yield {WHY: why, TAGS: tags, "data": tensor(*shape), "output_size": (cells, cells)}


@FAMILIES.operation("im2col")
def im2col(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A 3 x 3 layer's input, as columns."""
    window = Window(feature_maps(size), pad=1)
    yield {
        WHY: "ResNet-50, stage 1, 3 x 3: maps as columns, for a convolution by matrix product",
        TAGS: (FORM,),
        "data": tensor(*window.shape),
        "kernel": window.along(window.kernel),
        **sliding_roles(window),
    }


@FAMILIES.operation("col2im")
def col2im(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Columns as `im2col` returns them."""
    window = Window(feature_maps(size), pad=1)
    batch, channels, *extents = window.shape
    kernel = window.along(window.kernel)
    yield {
        WHY: "ResNet-50, stage 1, 3 x 3: columns' gradients summed to those of the maps",
        TAGS: (FORM,),
        "data": tensor(batch, channels * math.prod(kernel), math.prod(window.positions)),
        "output_size": tuple(extents),
        "kernel": kernel,
        **sliding_roles(window),
    }


@FAMILIES.operation("deconvolution")
def deconvolution(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Layers of networks for images, then of one for speech and of one for volumes."""
    maps = functools.partial(network_maps, size)
    for why, window, biased in (
        ("DCGAN, generator, second layer", Window(maps(512, 8, 8), 256, 4, 2, pad=1), False),
        ("U-Net, the second enlargement", Window(maps(512, 28, 28, samples=2), 256, 2, 2), True),
        ("FCN, each class separately", Window(maps(21, 32, 32), 21, 4, 2, pad=1, groups=21), False),
        ("HiFi-GAN, first enlargement, in 1D", Window(maps(512, 32), 256, 16, 8, pad=4), True),
        ("HiFi-GAN, third: few channels of long sound", Window(maps(128, 2048), 64, 4, 2, 1), True),
        ("3D U-Net, an enlargement", Window(maps(256, 16, 16, 8, samples=1), 256, 2, 2), True),
    ):
        filters = window.filters // window.groups
        weight = tensor(window.shape[1], filters, *window.along(window.kernel))
        notes = {WHY: why, TAGS: (PAPER,) if window.groups > 1 else ()}
        yield {**notes, **layer(window, biased), "weight": weight}


VARIANTS: dict[str, Variants] = {
    "global_pooling": lambda size: [
        {WHY: why, "data": tensor(*shape), "kind": kind}
        for why, kind, shape in (
            ("ResNet-50, before the classifier", "avg", network_maps(size, 2048, 7, 7, samples=32)),
            ("CBAM, attention to channels", "max", feature_maps(size, 256)),
            ("SPoC, sums as descriptors of images", "sum", network_maps(size, 512, 14, 14)),
            ("M5, before the classifier, in one dimension", "avg", network_maps(size, 512, 30)),
        )
    ],
    "adaptive_max_pooling": lambda size: [
        {WHY: why, "data": tensor(*feature_maps(size)), "output_size": (cells, cells)}
        for cells, why in (
            (1, "CBAM, attention to channels: each map to one number"),
            (7, "a region's map in 7 x 7 cells, as Fast R-CNN pools it"),
        )
    ],
}
add_rows(FAMILIES.operation, VARIANTS)
