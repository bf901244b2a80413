"""Shapes of images, maps and signals, windows that slide over them, Stable Diffusion's layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import Argument, TensorSpec
from opperf.rules.bert import layer_width
from opperf.rules.configurations import DTYPE, WHY
from opperf.rules.shapes import Shape
from opperf.rules.sizes import IMAGES, Preset
from opperf.rules.values import tensor

CLASSES = 1000

COLOURS = 3
FILTERS = 64
KERNEL = 3


def signals(size: Preset) -> Shape:
    """Shape of a batch of signals with one spatial axis."""
    return (size.batch, COLOURS, size.side(256))


def images(size: Preset) -> Shape:
    """Shape of a batch of colour images."""
    return (size.images, COLOURS, size.side(256), size.side(256))


def photographs(size: Preset) -> Shape:
    """Shape of a batch of ImageNet's images, at the size that classifiers are trained at."""
    return (size.images, COLOURS, size.side(224), size.side(224))


def feature_maps(size: Preset, channels: int = FILTERS) -> Shape:
    """Shape of a batch of feature maps of a ResNet's first stage."""
    return (size.images, channels, size.side(56), size.side(56))


def network_maps(
    size: Preset, channels: int, *sides: int, samples: int = IMAGES, multiple: int = 1
) -> Shape:
    """Shape of a batch of a network's feature maps, by their sides and number at the default size.
    Sides at other sizes are of a multiple, for strides that are to divide them."""
    return (size.samples(samples), channels, *(size.side(side, multiple) for side in sides))


def channels_last(shape: Shape) -> Shape:
    """Shape of the same maps with channels behind the spatial axes."""
    batch, channels, *extents = shape
    return (batch, *extents, channels)


def coarse_maps(size: Preset, channels: int = FILTERS) -> Shape:
    """Shape of a batch of feature maps of a ResNet's later stage, for costlier operators."""
    return (size.images, channels, size.side(32), size.side(32))


def video(size: Preset) -> Shape:
    """Shape of two short colour clips: a whole batch would take too long."""
    return (max(1, size.batch // 16), COLOURS, 16, size.side(56), size.side(56))


class Window(NamedTuple):
    """A sliding window over data of some shape, the same along each spatial axis."""

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
        """The value, once for each spatial axis."""
        return (value,) * self.axes

    @property
    def positions(self) -> Shape:
        """Number of the window's positions along each spatial axis."""
        reach = self.dilate * (self.kernel - 1) + 1
        return tuple((side + 2 * self.pad - reach) // self.stride + 1 for side in self.shape[2:])


LAYERS = (
    (2, 320, 64, "bfloat16", "Stable Diffusion's UNet, first blocks, with and without the text"),
    (2, 1280, 8, "bfloat16", "Stable Diffusion's UNet, middle block: few pixels, large weights"),
    # Its activations exceed the range of float16, and so some programs keep it in single precision.
    (1, 128, 512, "", "Stable Diffusion's decoder, last blocks, the whole image"),
)
"""Images, channels, side, dtype and why of its 3 x 3 layers."""


class Layer(NamedTuple):
    """A layer of 3 x 3 with as many outputs as inputs."""

    maps: TensorSpec
    weight: TensorSpec
    bias: TensorSpec
    notes: dict[str, Argument]


def layers(size: Preset) -> Iterable[Layer]:
    """Layers of the UNet and of the decoder."""
    for images, published, side, dtype, why in LAYERS:
        channels = layer_width(size, published)
        yield Layer(
            tensor(images, channels, size.side(side), size.side(side)),
            tensor(channels, channels, 3, 3),
            tensor(channels),
            {**({DTYPE: dtype} if dtype else {}), WHY: why},
        )
