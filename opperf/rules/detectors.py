"""Feature maps of detectors, of a pyramid for COCO's images and of a single stage for Pascal's,
their boxes, and regions of interest, upright and rotated.

A device takes few such images at a time, in training one or two. Boxes are of many sizes and
places, without a generator: they come from multiples of irrational numbers, which spread evenly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from opperf.model import Fill, TensorSpec
from opperf.rules.image_shapes import Window
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import fixed, literal, tensor

COCO = (800, 1344)
"""Height and width of an image as a pyramid's detector takes it."""
PASCAL = (600, 1000)
"""Height and width of an image as Faster R-CNN and R-FCN take it."""
COARSEST = 32
"""The largest stride: images are padded to a multiple of it, so that extents of levels double."""
LEVEL_CHANNELS = 256


def few_images(size: Preset) -> int:
    """Number of images that a detector takes at a time."""
    return max(1, size.images // 8)


def image_extents(size: Preset, extents: tuple[int, int]) -> tuple[int, int]:
    """Height and width of a detector's image at a size."""
    height, width = extents
    return size.side(height), size.side(width)


def maps(
    size: Preset, stride: int, channels: int = LEVEL_CHANNELS, extents: tuple[int, int] = COCO
) -> Shape:
    """Shape of a batch of feature maps with a cell for every `stride` pixels along each side."""
    cells = (
        math.ceil(extent / COARSEST) * COARSEST // stride for extent in image_extents(size, extents)
    )
    return (few_images(size), channels, *cells)


def last_stage(size: Preset) -> Window:
    """The 3 x 3 layer of a detector's last stage, at stride 32, of Pascal's images."""
    channels = 512
    return Window(maps(size, 32, channels, PASCAL), filters=channels, pad=1)


CORNERS = 4

CLASSES = 20
"""Classes of the Pascal VOC data, background aside."""
OBJECTS = 8
"""Objects in an image, at most."""
DETECTIONS = Fill("detections", float(CLASSES), float(OBJECTS))
"""Boxes around the objects of each image, with classes and scores, of which many overlap."""

Box = tuple[float, float, float, float]


def spread(index: int, number: int) -> float:
    """A number in [0, 1), spread evenly over the indices, independently for each non-square."""
    return (index * math.sqrt(number)) % 1


def sides(
    count: int, extents: tuple[float, float], least: float, most: float, digits: int = 2
) -> list[Box]:
    """Boxes (left, top, width, height) in an image of these extents, with sides in bounds."""
    made = []
    for i in range(1, count + 1):
        width, height = (least + (most - least) * spread(i, number) for number in (5, 7))
        down, across = extents
        left = max(0.0, across - width) * spread(i, 2)
        top = max(0.0, down - height) * spread(i, 3)
        made.append(tuple(round(number, digits) for number in (left, top, width, height)))
    return made  # type: ignore[return-value]


def corners(
    count: int, extents: tuple[float, float], least: float, most: float, digits: int = 2
) -> list[Box]:
    """The boxes of `sides` as (left, top, right, bottom)."""
    return [
        (left, top, round(left + width, digits), round(top + height, digits))
        for left, top, width, height in sides(count, extents, least, most, digits)
    ]


POOLED = 7
"""Cells along each side of a region that is classified."""
MASK_POOLED = 14
"""Cells along each side of a region that gets a mask."""
PROPOSALS = 512
"""Regions that a detector pools from one level of a pyramid."""
POSITIVES = 128
"""Those that contain an object."""
TRAINED_ON = 64
"""Regions that a step of Fast R-CNN takes of each image."""
POSITION_SENSITIVE = 300
"""Regions that R-FCN classifies in an image."""
PLANE = 2
LABELS = CLASSES + 1
"""Classes of the Pascal VOC data, and the background."""
SAMPLES = 2
"""Samples along each side of a cell, as Mask R-CNN takes."""

MOST = 4096
"""Regions of all images, at most: a case has their numbers in it."""


class Level(NamedTuple):
    """Feature maps, and the regions that are pooled from them."""

    number: int
    """Regions of an image at the default size."""
    stride: int
    least: int
    """The shortest side of a region in pixels."""
    most: int
    channels: int = LEVEL_CHANNELS
    image: tuple[int, int] = COCO

    def maps(self, size: Preset) -> TensorSpec:
        """The feature maps."""
        return tensor(*maps(size, self.stride, self.channels, self.image))

    def regions(self, size: Preset) -> int:
        """Number of regions of all images."""
        return min(few_images(size) * min(self.number, size.extent(self.number)), MOST)

    def places(self, size: Preset) -> tuple[int, tuple[int, int], float, float]:
        """Number of the regions, the image's extents, and bounds of the regions' sides."""
        extents = image_extents(size, self.image)
        least, most = (side * size.image_scale for side in (self.least, self.most))
        return self.regions(size), extents, least, most

    def rois(self, size: Preset) -> TensorSpec:
        """Regions by their corners, each after the number of its image."""
        rows = tuple(
            (float(i % few_images(size)), *box) for i, box in enumerate(corners(*self.places(size)))
        )
        return fixed(len(rows), 1 + CORNERS, fill=literal(rows))

    def rotated_boxes(self, size: Preset) -> TensorSpec:
        """Regions by centre, sides and angle in degrees."""
        rows = self._rotated(size)
        return fixed(len(rows), 1 + CORNERS, fill=literal(rows))

    def rotated_rois(self, size: Preset) -> TensorSpec:
        """Those regions, each after the number of its image."""
        rows = [(float(i % few_images(size)), *box) for i, box in enumerate(self._rotated(size))]
        return fixed(len(rows), 2 + CORNERS, fill=literal(rows))

    def _rotated(self, size: Preset) -> tuple[tuple[float, ...], ...]:
        return tuple(
            (round(left + width / 2, 2), round(top + height / 2, 2), width, height, i * 17.0 % 90)
            for i, (left, top, width, height) in enumerate(sides(*self.places(size)))
        )


LEVEL = Level(PROPOSALS, 8, 112, 224)
"""A pyramid's level: regions of 224 pixels are pooled at stride 16, of half the side at half."""
TRAINED = Level(PROPOSALS // 4, 8, 112, 224)
"""One of four levels, among which the proposals are shared."""
FEW = Level(POSITIVES // 2, 16, 224, 448)
SINGLE = Level(PROPOSALS, 16, 32, 224)
VGG = Level(TRAINED_ON, 16, 64, 448, 512, PASCAL)
"""The last feature maps of VGG-16, from which regions of all sizes are pooled."""
POSITIONS = Level(POSITION_SENSITIVE, 16, 64, 448, LABELS * POOLED**2, PASCAL)
"""R-FCN's feature maps: each cell of a region has channels of its own, one for each class."""
OFFSETS = POSITIONS._replace(channels=PLANE * POOLED**2)
"""The maps that each cell's offset is pooled from."""


class Pooling(NamedTuple):
    """A layer that pools the regions of a level, and why it is measured."""

    level: Level
    why: str
    is_trained: bool = False
    """Whether its gradient, which takes several times as long as the pooling, is taken."""
    cells: int = POOLED
    samples: int = SAMPLES
    aligned: bool = False

    def maps(self, size: Preset) -> TensorSpec:
        """The feature maps."""
        maps = self.level.maps(size)
        return maps if self.is_trained else fixed(*maps.shape)


ALIGNED = (
    Pooling(TRAINED, "Faster R-CNN: a level's share of an image's proposals, trained", True),
    Pooling(LEVEL, "Faster R-CNN: 512 proposals on a level of a feature pyramid, in use"),
    Pooling(FEW, "Detectron2: samples by the size of a cell, in use", samples=-1, aligned=True),
    Pooling(FEW, "Mask R-CNN: regions that get a mask, in use", cells=MASK_POOLED),
)
"""Poolings of samples between the elements of the maps."""
WHOLE = (
    Pooling(VGG, "Fast R-CNN with VGG-16: an image's regions in a step", True),
    Pooling(SINGLE, "512 proposals on maps of 256 channels, in use"),
)
"""Poolings of the elements themselves."""
