"""Feature maps of detectors: of a pyramid for COCO's pictures, and of a single stage for Pascal's.

A device takes few such pictures at a time, in training one or two.
"""

from __future__ import annotations

import math

from opperf.rules.pictures import Window
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset

COCO = (800, 1344)
"""Height and width of a picture as a pyramid's detector takes it."""
PASCAL = (600, 1000)
"""Height and width of a picture as Faster R-CNN and R-FCN take it."""
COARSEST = 32
"""The largest stride: pictures are padded to a multiple of it, so that each level has twice the
extents of the next coarser one."""
LEVEL_CHANNELS = 256
"""Channels of every level of a pyramid."""


def few_pictures(size: Preset) -> int:
    """Number of pictures that a detector takes at a time."""
    return max(1, size.pictures // 8)


def picture_extents(size: Preset, extents: tuple[int, int]) -> tuple[int, int]:
    """Height and width of a detector's picture at a size."""
    height, width = extents
    return size.side(height), size.side(width)


def maps(
    size: Preset, stride: int, channels: int = LEVEL_CHANNELS, extents: tuple[int, int] = COCO
) -> Shape:
    """Shape of a batch of feature maps with a cell for every `stride` pixels along each side."""
    cells = (
        math.ceil(extent / COARSEST) * COARSEST // stride
        for extent in picture_extents(size, extents)
    )
    return (few_pictures(size), channels, *cells)


def last_stage(size: Preset) -> Window:
    """The 3 x 3 layer of a detector's last stage, at stride 32, of Pascal's pictures."""
    channels = 512
    return Window(maps(size, 32, channels, PASCAL), filters=channels, pad=1)
