"""The roofline plot of a ranking: operations per second against operations for each byte, both
logarithmic, with a circle for each operator below the lines of the peaks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from opperf.model import Peaks
from opperf.plurals import pluralize
from opperf.reports.hotspots.data import Hotspot, Hotspots
from opperf.reports.model import Drawing
from opperf.results.plots.dimensions import log_ticks
from opperf.results.roofline import Bound, levels_of, multiplied_in, products_of, work_of
from opperf.results.text import truncate
from opperf.results.units import time_text
from opperf.results.web_page import xml_text

WIDTH, HEIGHT = 1100, 640
LEFT, TOP, RIGHT, BOTTOM = EDGES = (70, 92, 1080, 592)
"""Pixels of the image, and the edges of its axes."""

COLOURS: dict[Bound, str] = {
    "memory": "#0072b2",
    "compute": "#d55e00",
    "dispatch": "#009e73",
    "launch": "#8c6d31",
    "impossible": "#cc0000",
}
"""Colours for the colour-blind, after Okabe and Ito."""

LEAST_RADIUS, RADIUS = 3.5, 30.0
"""Pixels of the circle of no time, and more of that of all time."""

MOST_NAMES = 20
"""Most operators, the largest, that have names beside their circles."""

NAME_LETTERS, LETTER, LINE = 28, 6.8, 14
"""Most letters of a name, and pixels of a letter and of a line of text."""

LEGEND = 110
"""Pixels of an entry of the legend."""

BESIDE = 90
"""Pixels between the beginnings of the labels of two levels of memory."""

ROOM = 2.5
"""Factor between the outermost points or ridges and the edges."""

MOST_TICKS = 12

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""

Text = tuple[float, float, float, str, str]
"""Position, angle, anchor and words."""


class _Point(NamedTuple):
    """An operator: its operations for each byte, GFLOP/s, and share of the time."""

    name: str
    x: float
    y: float
    share: float
    bound: Bound
    hover: str


class _Circle(NamedTuple):
    name: str
    x: float
    y: float
    radius: float
    colour: str
    hover: str

    @property
    def box(self) -> Box:
        x, y, radius = self.x, self.y, self.radius
        return x - radius, y - radius, x + radius, y + radius


class _Axis(NamedTuple):
    """The ends of a logarithmic axis, and their pixels."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        part = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.begin + part * (self.end - self.begin), 1)

    def ticks(self) -> list[tuple[float, str]]:
        found = log_ticks(self.low, self.high, MOST_TICKS)
        return [(self.at(tick), f"{tick:g}") for tick in found]


def roofline_plot(found: Hotspots) -> Drawing | None:
    """Returns the plot of the operators of a ranking; None if none can be drawn."""
    points = [point for row in found.rows if (point := _point(row)) is not None]
    if found.headroom is None or not points:
        return None
    # The settings and peaks of most of the time.
    most = max(found.headroom.passes, key=lambda entry: entry.time_ns).record
    peaks, threads = most.peaks or Peaks(device="", measured=""), most.case.settings.threads
    measured = products_of(peaks.products, threads)
    used = {
        pair[0]
        for entry in found.headroom.passes
        if (pair := multiplied_in(entry.record.case, measured)) is not None
    }
    products = {dtype: measured[dtype] / 1e9 for dtype in used}
    memories = {level.name: level.rate / 1e9 for level in levels_of(peaks.bandwidths, threads)}
    top = max(products.values(), default=max(point.y for point in points))
    xs = [*(point.x for point in points), *(top / rate for rate in memories.values())]
    ys = [*(point.y for point in points), *products.values(), top]
    x = _Axis(min(xs) / ROOM, max(xs) * ROOM, LEFT, RIGHT)
    y = _Axis(min(ys) / ROOM, max(ys) * ROOM, BOTTOM, TOP)
    circles = [_circle(point, x, y) for point in sorted(points, key=lambda point: -point.share)]
    diagonals = [
        _diagonal(place, *level, top, x, y) for place, level in enumerate(memories.items())
    ]
    roofs = list(_roofs(products, memories, x, y))
    texts = [text for _, text in (*diagonals, *roofs) if text[-1]]
    bounds = [bound for bound in COLOURS if bound in {point.bound for point in points}]
    content = {
        "title": "Roofline",
        "width": WIDTH,
        "height": HEIGHT,
        "edges": EDGES,
        "head": [
            xml_text(line) for line in _head(found, peaks, threads, sum(p.share for p in points))
        ],
        "legend": [
            (COLOURS[bound], LEFT + 6 + LEGEND * place, bound) for place, bound in enumerate(bounds)
        ],
        "x_ticks": x.ticks(),
        "y_ticks": y.ticks(),
        "lines": [line for line, _ in (*diagonals, *roofs)],
        # The largest are behind the others.
        "circles": circles,
        "labels": texts,
        "names": list(_names(circles, [box for text in texts for box in _boxes_of(text)])),
    }
    return Drawing("Roofline", "roofline.svg.jinja", content)


def _point(row: Hotspot) -> _Point | None:
    """Returns the point of the passes of which operations and bytes are known; None without any."""
    flops = moved = time_ns = 0.0
    for entry in row.headroom.passes if row.headroom else ():
        work = work_of(entry.record, entry.roofline.time.metric.name)
        if work.flops and work.moved:
            flops += entry.calls * work.flops
            moved += entry.calls * work.moved
            time_ns += entry.time_ns
    if not time_ns or row.headroom is None:
        return None
    x, y = flops / moved, flops / time_ns
    share = row.headroom.attainable
    attained = "" if share is None else f", {100 * share:.0f} % of the attainable"
    return _Point(
        row.name,
        x,
        y,
        row.share,
        row.headroom.bound,
        f"{row.name}\n{time_text(row.time.value)}, {100 * row.share:.1f} % of the time\n"
        f"{y:.3g} GFLOP/s, {x:.3g} flop/B\n{row.headroom.text}{attained}",
    )


def _circle(point: _Point, x: _Axis, y: _Axis) -> _Circle:
    radius = round(LEAST_RADIUS + RADIUS * math.sqrt(point.share), 1)
    name, hover = xml_text(truncate(point.name, NAME_LETTERS)), xml_text(point.hover)
    return _Circle(name, x.at(point.x), y.at(point.y), radius, COLOURS[point.bound], hover)


def _head(found: Hotspots, peaks: Peaks, threads: int | None, drawn: float) -> Iterator[str]:
    with_threads = "all threads" if threads is None else pluralize(threads, "thread")
    yield (
        f"Peaks of {peaks.device} with {with_threads}, measured {peaks.measured[:10]}. Circles: "
        "operators, larger with their share of the time, coloured by what bounds them."
    )
    left = 1 - drawn
    if left >= 0.0005:
        yield f"Operators with {100 * left:.1f} % of the time have no known operations or bytes."


Line = tuple[tuple[float, float, float, float], Text]
"""A line from one end to another, and its label."""


def _diagonal(place: int, name: str, rate: float, top: float, x: _Axis, y: _Axis) -> Line:
    """Returns the line of a level of memory up to the highest product's, from the edge."""
    begin = max(x.low, y.low / rate)
    ends = (x.at(begin), y.at(begin * rate), x.at(top / rate), y.at(top))
    angle = math.degrees(math.atan2(ends[3] - ends[1], ends[2] - ends[0]))
    # Above the line, further along than those of faster memories, which are near it.
    part = min(0.6, BESIDE * (place + 0.5) / (ends[2] - ends[0]))
    at = (ends[0] + part * (ends[2] - ends[0]), ends[1] + part * (ends[3] - ends[1]) - 5)
    label = f"{name} {rate:.3g} GB/s"
    return ends, (round(at[0], 1), round(at[1], 1), round(angle, 1), "start", label)


def _roofs(
    products: Mapping[str, float], memories: Mapping[str, float], x: _Axis, y: _Axis
) -> Iterator[Line]:
    """Yields the lines of products of matrices, from the fastest memory's on. Labels that would
    overlap are one."""
    ordered = sorted(products.items(), key=lambda pair: -pair[1])
    fastest, said = max(memories.values(), default=0.0), ""
    for place, (dtype, rate) in enumerate(ordered):
        begin = x.at(max(x.low, rate / fastest)) if fastest else LEFT
        said += f"{', ' if said else ''}{dtype} {rate:.3g}"
        following = ordered[place + 1 : place + 2]
        is_apart = not following or y.at(following[0][1]) - y.at(rate) > LINE + 2
        label = f"{said} GFLOP/s" if is_apart else ""
        said = "" if is_apart else said
        yield (
            (begin, y.at(rate), RIGHT, y.at(rate)),
            (RIGHT - 6, y.at(rate) - 5, 0.0, "end", label),
        )


def _boxes_of(text: Text) -> list[Box]:
    """Returns the boxes that a text covers, one for each letter where it is not level."""
    x, y, angle, anchor, words = text
    width = LETTER * len(words)
    if not angle:
        left = x - width if anchor == "end" else x - width / 2 if anchor == "middle" else x
        return [(left, y - LINE + 3, left + width, y + 3)]
    right, down = LETTER * math.cos(math.radians(angle)), LETTER * math.sin(math.radians(angle))
    starts = [(x + place * right, y + place * down) for place in range(len(words))]
    return [(left, bottom - LINE, left + LINE, bottom) for left, bottom in starts]


def _names(circles: Sequence[_Circle], taken: list[Box]) -> Iterator[Text]:
    """Yields the names of the largest circles and of impossible ones, each where it overlaps no
    text and none of these circles; none where there is no such place."""
    impossible = [circle for circle in circles if circle.colour == COLOURS["impossible"]]
    largest = list(dict.fromkeys([*impossible, *circles]))[:MOST_NAMES]
    for circle in largest:
        others = [*taken, *(other.box for other in largest if other is not circle)]
        for text in _places(circle):
            (box,) = _boxes_of(text)
            if _is_inside(box) and not any(_overlap(box, other) for other in others):
                taken.append(box)
                yield text
                break


def _places(circle: _Circle) -> Iterator[Text]:
    x, y, gap = circle.x, circle.y, circle.radius + 3
    yield x + gap, y + 4, 0.0, "start", circle.name
    yield x - gap, y + 4, 0.0, "end", circle.name
    yield x, y - gap, 0.0, "middle", circle.name
    yield x, y + gap + 9, 0.0, "middle", circle.name


def _is_inside(box: Box) -> bool:
    return box[0] >= LEFT and box[1] >= TOP and box[2] <= RIGHT and box[3] <= BOTTOM


def _overlap(first: Box, other: Box) -> bool:
    return (
        first[0] < other[2] and other[0] < first[2] and first[1] < other[3] and other[1] < first[3]
    )
