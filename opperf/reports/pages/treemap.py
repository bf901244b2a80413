"""A treemap: categories, and in them operators, as large as the time of their calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from opperf.model import Record
from opperf.plurals import counted
from opperf.reports.hotspots.times import time_of, without_chains
from opperf.reports.model import RunOnPage
from opperf.results.text import truncate
from opperf.results.units import time_text

WIDTH, HEIGHT = 1200.0, 480.0
"""Units of the drawing, which is as wide as the page."""

HEAD = 18.0
"""Height of a category's title."""

LEAST_AREA = 150.0
"""Smallest area of an operator's box: smaller ones are drawn as one, as no one could point at
them."""

LETTER = 7.0
"""Width of a letter, with some room to spare."""

UNNAMED = "no category"

HUES = 8
"""Number of colours, which repeat: neighbours differ, as categories are sorted by time."""


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float


class _Area(NamedTuple):
    """The box of an operator, or of several small ones."""

    box: Box
    name: str
    text: str
    """Its name, if there is room."""
    hover: str


class Category(NamedTuple):
    """The box of a category, with those of its operators."""

    box: Box
    name: str
    text: str
    hover: str
    hue: int
    areas: tuple[_Area, ...]
    time: str
    share: str


class Treemap(NamedTuple):
    """A treemap as the template draws it."""

    width: float
    height: float
    categories: tuple[Category, ...]
    total: str


def treemap_of(runs: Sequence[RunOnPage]) -> Treemap | None:
    """Returns the treemap of the times of measured cases; None without a time."""
    times: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for record in (record for own in runs for record in without_chains(own.run).records):
        time = _time_ns(record)
        if time > 0:
            times[record.case.category or UNNAMED][record.case.label] += time
    if not times:
        return None
    sums = {name: sum(own.values()) for name, own in times.items()}
    total = sum(sums.values())
    categories = [
        _category(name, box, times[name], total, place % HUES)
        for place, (name, box) in enumerate(squarified(sums, Box(0, 0, WIDTH, HEIGHT)))
    ]
    return Treemap(WIDTH, HEIGHT, tuple(categories), time_text(total))


def _time_ns(record: Record) -> float:
    """Returns the time of all calls of a case; 0 of one without."""
    figure = time_of(record)
    return max(0.0, figure.value * record.case.count) if figure is not None else 0.0


def _category(name: str, box: Box, times: Mapping[str, float], total: float, hue: int) -> Category:
    own = sum(times.values())
    head = HEAD if box.height > 2 * HEAD else 0.0
    inside = Box(box.x, box.y + head, box.width, box.height - head)
    scale = inside.width * inside.height / own
    large = {label: time for label, time in times.items() if time * scale >= LEAST_AREA}
    small = [label for label in times if label not in large]
    named = dict(large)
    if small:
        named[counted(len(small), "other")] = sum(times[label] for label in small)
    areas = [
        _Area(
            place,
            one,
            _fitting(one, place, 14.0),
            f"{one}: {time_text(named[one])}, {named[one] / total:.1%}",
        )
        for one, place in squarified(named, inside)
    ]
    share = f"{own / total:.1%}"
    return Category(
        box=box,
        name=name,
        text=_fitting(name, box, HEAD) if head else "",
        hover=f"{name}: {time_text(own)}, {share}",
        hue=hue,
        areas=tuple(areas),
        time=time_text(own),
        share=share,
    )


def _fitting(text: str, box: Box, height: float) -> str:
    """Returns the text, cut to the width of a box; empty where nothing of it can be read."""
    letters = int((box.width - 6) / LETTER)
    if box.height < height or letters < 3:
        return ""
    return truncate(text, letters)


def squarified(values: Mapping[str, float], box: Box) -> Iterator[tuple[str, Box]]:
    """Yields a box for each positive value, the largest first: areas are as the values, and boxes
    as near to squares as rows of them allow."""
    left = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
    scale = box.width * box.height / sum(values.values())
    while left:
        side = min(box.width, box.height)
        count = _row_length([value * scale for _, value in left], side)
        row, left = left[:count], left[count:]
        area = sum(value for _, value in row) * scale
        thick = area / side if side else 0.0
        offset = 0.0
        for name, value in row:
            length = value * scale / thick if thick else 0.0
            if box.width >= box.height:
                yield name, Box(box.x, box.y + offset, thick, length)
            else:
                yield name, Box(box.x + offset, box.y, length, thick)
            offset += length
        if box.width >= box.height:
            box = Box(box.x + thick, box.y, max(0.0, box.width - thick), box.height)
        else:
            box = Box(box.x, box.y + thick, box.width, max(0.0, box.height - thick))


def _row_length(areas: Sequence[float], side: float) -> int:
    """Returns how many areas make the row whose worst ratio of sides is best."""
    best = 1
    while best < len(areas) and _worst(areas[: best + 1], side) <= _worst(areas[:best], side):
        best += 1
    return best


def _worst(areas: Sequence[float], side: float) -> float:
    thick = sum(areas) / side if side else 0.0
    return max(max(area / thick**2, thick**2 / area) for area in areas) if thick else 1.0
