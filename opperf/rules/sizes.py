"""Sizes of inputs, as presets, with which every rule scales."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """One size of inputs.

    `scale` multiplies the extents that grow with the size: rows of a matrix, elements of a vector.
    `batch` is the number of samples of a layer, `images` the number where a sample is an image
    or a feature map, `image_scale` an image's side relative to the default. `matrix` are a matrix's
    extents, where a user sets them.
    """

    name: str
    scale: float
    batch: int
    images: int
    image_scale: float
    matrix: tuple[int, int] | None = None

    def extent(self, default: int, least: int = 1) -> int:
        """An extent, scaled from that at the default size, and at least `least`."""
        return max(least, round(default * self.scale))

    def side(self, default: int, multiple: int = 8) -> int:
        """The side of an image, scaled from that at the default size. It is a multiple of 8, so
        that strides and blocks divide it, or of what a network's maps are."""
        return multiple * math.ceil(default * self.image_scale / multiple)

    def samples(self, default: int) -> int:
        """A number of samples, scaled like `images` from that at the default size."""
        return max(1, default * self.images // IMAGES)


IMAGES = 8
"""Images at the default size: of 32, a convolution's gradient takes 3 s on two cores."""

INT64 = "int64"
"""Name of the size for builds with 64-bit tensor indices; chosen by --int64-tensor."""

PRESETS = {
    # A test's size: dispatch dominates, and a sweep takes seconds.
    "small": Preset("small", scale=1 / 16, batch=2, images=2, image_scale=1 / 4),
    # Matrices of 1024 x 1024 (4 MiB of float32), the size of MXNet's utility.
    "default": Preset("default", scale=1.0, batch=32, images=IMAGES, image_scale=1.0),
    # Four times the default in each extent that grows: beyond most last-level caches.
    "large": Preset("large", scale=4.0, batch=64, images=64, image_scale=1.0),
    # For 64-bit indices: 1024 x 1024 becomes 65536 x 65536, 2**32 elements, twice the number that a
    # signed 32-bit index can reach. So does a batch of images.
    INT64: Preset(INT64, scale=64.0, batch=2**15, images=2**15, image_scale=1.0),
}
