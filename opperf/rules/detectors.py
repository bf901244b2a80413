"""Feature maps of detectors, of a pyramid for COCO's images and of a single stage for Pascal's, and
their boxes.

A device takes few such images at a time, in training one or two. Boxes are of many sizes and
places, without a generator: they come from multiples of irrational numbers, which spread evenly.
"""

from __future__ import annotations

import math

from opperf.model import Fill
from opperf.rules.image_shapes import Window
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset

COCO = (800, 1344)
"""Height and width of an image as a pyramid's detector takes it."""
PASCAL = (600, 1000)
"""Height and width of an image as Faster R-CNN and R-FCN take it."""
COARSEST = 32
"""The largest stride: images are padded to a multiple of it, so that each level has twice the
extents of the next coarser one."""
LEVEL_CHANNELS = 256
"""Channels of every level of a pyramid."""


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
"""Numbers in a box."""

CLASSES = 20
"""Classes of the Pascal VOC data, background aside."""
OBJECTS = 8
"""Objects in an image, at most."""
DETECTIONS = Fill("detections", float(CLASSES), float(OBJECTS))
"""Boxes around the objects of each image, as a detector finds them, with their classes and scores:
how many overlap is what suppression takes time for."""

Box = tuple[float, float, float, float]


def spread(index: int, number: int) -> float:
    """A number in [0, 1), spread evenly over the indices, independently for each `number`, which
    is no square."""
    return (index * math.sqrt(number)) % 1


def sides(
    count: int, extents: tuple[float, float], least: float, most: float, digits: int = 2
) -> list[Box]:
    """Boxes (left, top, width, height) in an image of some height and width, with sides between
    two bounds, rounded to some digits."""
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
