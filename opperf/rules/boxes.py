"""Boxes of many sizes and places, without a generator: they come from multiples of irrational
numbers, which are spread evenly; and those that a detector finds, which the framework draws."""

from __future__ import annotations

import math

from opperf.model import Fill

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
    """Boxes (left, top, width, height) in a picture of some height and width, with sides between
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
