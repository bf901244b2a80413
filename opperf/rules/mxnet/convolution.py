"""Convolution, transposed convolution, pooling, and what else samples images and signals.

The shapes of images and feature maps that other modules take are here too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import Argument, Operator
from opperf.rules.engine import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import OPEN_UNIT, PROBABILITY, Arguments, tensor, tensors

FAMILIES = Families()

COLOURS = 3
FILTERS = 64
KERNEL = 3
SCALE = 2
"""By how much images are enlarged."""
AFFINE = 6
"""Numbers in an affine transformation of the plane."""
DILATION = 2

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
"""Layout by the number of spatial axes."""


def signals(size: Preset) -> Shape:
    """Shape of a batch of signals with one spatial axis."""
    return (size.batch, COLOURS, size.side(256))


def images(size: Preset) -> Shape:
    """Shape of a batch of colour images."""
    return (size.pictures, COLOURS, size.side(256), size.side(256))


def photographs(size: Preset) -> Shape:
    """Shape of a batch of ImageNet's pictures, as classifiers are trained on them."""
    return (size.pictures, COLOURS, size.side(224), size.side(224))


def feature_maps(size: Preset, channels: int = FILTERS) -> Shape:
    """Shape of a batch of feature maps: those of the first stage of a ResNet."""
    return (size.pictures, channels, size.side(56), size.side(56))


def coarse_maps(size: Preset, channels: int = FILTERS) -> Shape:
    """Shape of a batch of feature maps of a later stage, for costlier operators."""
    return (size.pictures, channels, size.side(32), size.side(32))


def video(size: Preset) -> Shape:
    """Shape of a few short colour clips: a batch of images' worth would be too long."""
    return (max(1, size.batch // 8), COLOURS, 16, size.side(56), size.side(56))


class Window(NamedTuple):
    """A sliding window over some data, alike along each spatial axis."""

    shape: Shape
    filters: int = FILTERS
    kernel: int = KERNEL
    stride: int = 1
    pad: int = 0
    dilate: int = 1
    groups: int = 1

    @property
    def axes(self) -> int:
        """Number of spatial axes."""
        return len(self.shape) - 2

    def along(self, value: int) -> Shape:
        """The same number for each spatial axis."""
        return (value,) * self.axes

    @property
    def positions(self) -> Shape:
        """Number of places the window takes along each spatial axis."""
        reach = self.dilate * (self.kernel - 1) + 1
        return tuple(
            (extent + 2 * self.pad - reach) // self.stride + 1 for extent in self.shape[2:]
        )

    def values(self) -> Arguments:
        """Its plain arguments."""
        grouped: Arguments = {"num_group": self.groups} if self.groups > 1 else {}
        return {
            "kernel": self.along(self.kernel),
            "stride": self.along(self.stride),
            "dilate": self.along(self.dilate),
            "pad": self.along(self.pad),
            "num_filter": self.filters,
            **grouped,
        }


def layer(window: Window) -> Arguments:
    """A convolution's arguments."""
    inputs = window.shape[1] // window.groups
    return {
        "data": tensor(*window.shape),
        "weight": tensor(window.filters, inputs, *window.along(window.kernel)),
        "bias": tensor(window.filters),
        **window.values(),
        "layout": LAYOUTS[window.axes],
    }


@FAMILIES.add("Convolution")
def convolution(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One and two spatial axes, as MXNet's users know them, then the layers of real networks."""
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


@FAMILIES.add("Convolution_v1")
def convolution_v1(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A 3 x 3 and a narrowing layer of a later stage: the older operator has plain loops around
    a matrix product, and takes many times as long as `Convolution`."""
    return map(
        layer,
        (
            Window(coarse_maps(size), pad=1),
            Window(coarse_maps(size, 4 * FILTERS), kernel=1),
        ),
    )


@FAMILIES.add("Deconvolution")
def deconvolution(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Signals enlarged, a generator's layer (DCGAN), and a segmentation's (FCN), which
    enlarges each of the 21 classes' maps for itself."""
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
            **window.values(),
            "no_bias": False,
            "layout": LAYOUTS[window.axes],
        }


def offset_window(size: Preset) -> Window:
    """A 3 x 3 layer of few channels: reading at learned offsets takes long."""
    return Window(coarse_maps(size, FILTERS // 2), pad=1)


@FAMILIES.add("_contrib_DeformableConvolution", "_npx_deformable_convolution")
def deformable(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A 3 x 3 layer of a later stage of a ResNet, where offsets are learned."""
    window = offset_window(size)
    yield {
        "data": tensor(*window.shape),
        "offset": tensor(window.shape[0], 2 * math.prod(window.along(KERNEL)), *window.positions),
        "weight": tensor(FILTERS, window.shape[1], *window.along(KERNEL)),
        "bias": tensor(FILTERS),
        **window.values(),
    }


@FAMILIES.add("_contrib_ModulatedDeformableConvolution", "_npx_modulated_deformable_convolution")
def modulated(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `deformable`, with a weight for each offset."""
    for arguments in deformable(operator, size):
        data, offset, *others = arguments.items()
        window = offset_window(size)
        mask = tensor(
            window.shape[0], math.prod(window.along(KERNEL)), *window.positions, fill=PROBABILITY
        )
        yield dict((data, offset, ("mask", mask), *others))


def pools(window: Window) -> Iterable[Arguments]:
    """Every kind of pooling by a window, and of the whole map at once."""
    for kind, whole in itertools.product(("avg", "max", "sum"), (False, True)):
        yield {
            "data": tensor(*window.shape),
            "kernel": window.along(window.kernel),
            "pool_type": kind,
            "global_pool": whole,
            "stride": window.along(window.stride),
            "pad": window.along(window.pad),
        }


@FAMILIES.add("Pooling")
def pooling(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Signals and images, as MXNet's users know them."""
    yield from pools(Window(signals(size), pad=1))
    yield from pools(Window(images(size)))


@FAMILIES.add("Pooling_v1")
def pooling_v1(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Images: the older operator takes no signals."""
    return pools(Window(images(size)))


@FAMILIES.add("_contrib_AdaptiveAvgPooling2D")
def adaptive_pooling(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """To one number for each channel, as classifiers do, and to the grids of PSPNet."""
    for cells in (1, 2, 3, 6):
        yield {"data": tensor(*feature_maps(size)), "output_size": (cells, cells)}


@FAMILIES.add("im2col")
def im2col(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """What a convolution of images by matrix product begins with."""
    window = Window(images(size), stride=2, pad=1)
    yield {"data": tensor(*window.shape), **unfolding(window)}


@FAMILIES.add("col2im")
def col2im(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The way back from `im2col`."""
    window = Window(images(size), stride=2, pad=1)
    batch, channels, *extents = window.shape
    columns = (channels * math.prod(window.along(window.kernel)), math.prod(window.positions))
    yield {"data": tensor(batch, *columns), "output_size": tuple(extents), **unfolding(window)}


def unfolding(window: Window) -> Arguments:
    """The plain arguments of `im2col` and `col2im`."""
    values = window.values()
    return {name: values[name] for name in ("kernel", "stride", "dilate", "pad")}


@FAMILIES.add("Correlation")
def correlation(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two frames' maps compared at displacements of up to four pixels, as optical flow
    networks do (PWC-Net); by products and by differences."""
    reach = 4
    shape = coarse_maps(size, 32)
    for product in (True, False):
        yield {
            "data1": tensor(*shape),
            "data2": tensor(*shape),
            "kernel_size": 1,
            "max_displacement": reach,
            "stride1": 1,
            "stride2": 1,
            "pad_size": reach,
            "is_multiply": product,
        }


@FAMILIES.add("UpSampling")
def upsampling(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Maps made twice as large: pixels repeated, two maps put together, a learned filter."""
    maps = tensor(*coarse_maps(size))
    kernel = 2 * SCALE - SCALE % 2
    for kind, data in (
        ("nearest", [maps]),
        ("nearest", [maps, maps]),
        ("bilinear", [maps, tensor(FILTERS, 1, kernel, kernel)]),
    ):
        filters: dict[str, Argument] = {"num_filter": FILTERS} if kind == "bilinear" else {}
        yield {
            "data": tensors(data),
            "scale": SCALE,
            **filters,
            "sample_type": kind,
            "num_args": len(data),
        }


@FAMILIES.add("BilinearSampler")
def bilinear_sampler(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Images read at random places, all of them inside."""
    batch, _, *extents = images(size)
    yield {"data": tensor(*images(size)), "grid": tensor(batch, 2, *extents, fill=OPEN_UNIT)}


@FAMILIES.add("GridGenerator")
def grid_generator(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A grid for each image, from an affine transformation and from a flow field."""
    batch, _, *extents = images(size)
    yield {
        "data": tensor(batch, AFFINE, fill=OPEN_UNIT),
        "transform_type": "affine",
        "target_shape": tuple(extents),
    }
    yield {"data": tensor(batch, 2, *extents), "transform_type": "warp"}


@FAMILIES.add("SpatialTransformer")
def spatial_transformer(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Images warped by an affine transformation each."""
    batch, _, *extents = images(size)
    yield {
        "data": tensor(*images(size)),
        "loc": tensor(batch, AFFINE, fill=OPEN_UNIT),
        "target_shape": tuple(extents),
        "transform_type": "affine",
        "sampler_type": "bilinear",
    }


@FAMILIES.add("_contrib_BilinearResize2D")
def bilinear_resize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A segmentation's maps enlarged to a given size and to another tensor's, and halved."""
    data = tensor(*coarse_maps(size))
    _, _, height, width = feature_maps(size)
    yield {"data": data, "height": height, "width": width}
    yield {"data": data, "like": tensor(*feature_maps(size)), "mode": "like"}
    yield {"data": data, "scale_height": 1 / SCALE, "scale_width": 1 / SCALE, "mode": "odd_scale"}
