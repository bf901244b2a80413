"""The roofline plot of a ranking: operations per second against operations for each byte, both
logarithmic, with a circle for each operator below the lines of the peaks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from opperf.model import Peaks
from opperf.plurals import pluralize
from opperf.reports.hotspots.data import Hotspot, Hotspots
from opperf.reports.hotspots.headroom import Bounded
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

DASHES = {"": "", "dashed": "8 5", "dotted": "2 4", "dashed and dotted": "9 4 2 4"}
"""Lines of the devices that most of the time is of, by what they are called."""

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


class _Roof(NamedTuple):
    """The lines of a device: its peaks at the number of threads of most of its time."""

    prefix: str
    """Of its labels, where several devices have lines."""
    head: str
    memories: dict[str, float]
    """In GB/s, by level, the fastest first."""
    products: dict[str, float]
    """In GFLOP/s, by the dtypes of its calls."""
    dash: str


def roofline_plot(found: Hotspots) -> Drawing | None:
    """Returns the plot of the operators of a ranking; None if none can be drawn."""
    points = [point for row in found.rows if (point := _point(row)) is not None]
    if found.headroom is None or not points:
        return None
    roofs = _roofs_of(found.headroom.passes)
    # A device whose products are not known has lines of memory all the same.
    tops = [max(roof.products.values(), default=max(point.y for point in points)) for roof in roofs]
    ridges = [
        top / rate for roof, top in zip(roofs, tops, strict=True) for rate in roof.memories.values()
    ]
    xs = [*(point.x for point in points), *ridges]
    ys = [point.y for point in points] + tops
    ys += [rate for roof in roofs for rate in roof.products.values()]
    x = _Axis(min(xs) / ROOM, max(xs) * ROOM, LEFT, RIGHT)
    y = _Axis(min(ys) / ROOM, max(ys) * ROOM, BOTTOM, TOP)
    circles = [_circle(point, x, y) for point in sorted(points, key=lambda point: -point.share)]
    lines = [*_diagonals(zip(roofs, tops, strict=True), x, y), *_levels(roofs, x, y)]
    labels = [line.label for line in lines if line.label[-1]]
    bounds = [bound for bound in COLOURS if bound in {point.bound for point in points}]
    content = {
        "title": "Roofline",
        "width": WIDTH,
        "height": HEIGHT,
        "edges": EDGES,
        "head": [xml_text(line) for line in _head(roofs, sum(point.share for point in points))],
        "legend": [
            (COLOURS[bound], LEFT + 6 + LEGEND * place, bound) for place, bound in enumerate(bounds)
        ],
        "x_ticks": x.ticks(),
        "y_ticks": y.ticks(),
        "lines": [(*line.ends, line.dash) for line in lines],
        # The largest are behind the others.
        "circles": circles,
        "labels": labels,
        "names": list(_names(circles, [box for label in labels for box in _boxes_of(label)])),
    }
    return Drawing("Roofline", "roofline.svg.jinja", content)


def _roofs_of(passes: Iterable[Bounded]) -> list[_Roof]:
    """Returns the lines of the devices that most of the time is of, the longest first."""
    groups: dict[tuple[str, str], list[Bounded]] = {}
    for entry in passes:
        peaks = entry.record.peaks
        if peaks is not None:
            groups.setdefault((peaks.device, peaks.measured), []).append(entry)
    ordered = sorted(groups.values(), key=lambda own: -sum(entry.time_ns for entry in own))
    return [
        _roof_of(own, name, has_others=len(groups) > 1)
        for own, name in zip(ordered, DASHES, strict=False)
    ]


def _roof_of(passes: Sequence[Bounded], line: str, has_others: bool) -> _Roof:
    most = max(passes, key=lambda entry: entry.time_ns).record
    peaks, threads = most.peaks or Peaks(device="", measured=""), most.case.settings.threads
    products = products_of(peaks.products, threads)
    pairs = (multiplied_in(entry.record.case, products) for entry in passes)
    used = {pair[0] for pair in pairs if pair is not None}
    with_threads = "all threads" if threads is None else pluralize(threads, "thread")
    is_of_cores = any(peak.threads for peak in peaks.bandwidths)
    return _Roof(
        f"{peaks.device} " if has_others else "",
        f"{peaks.device}{f' with {with_threads}' if is_of_cores else ''}, measured "
        f"{peaks.measured[:10]}{f' ({line})' if line else ''}",
        {level.name: level.rate / 1e9 for level in levels_of(peaks.bandwidths, threads)},
        {dtype: rate / 1e9 for dtype, rate in products.items() if dtype in used},
        DASHES[line],
    )


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
        f"{_rounded(y)} GFLOP/s, {_rounded(x)} flop/B\n{row.headroom.text}{attained}",
    )


def _rounded(value: float) -> str:
    return f"{float(f'{value:.3g}'):,g}"


def _circle(point: _Point, x: _Axis, y: _Axis) -> _Circle:
    radius = round(LEAST_RADIUS + RADIUS * math.sqrt(point.share), 1)
    name, hover = xml_text(truncate(point.name, NAME_LETTERS)), xml_text(point.hover)
    return _Circle(name, x.at(point.x), y.at(point.y), radius, COLOURS[point.bound], hover)


def _head(roofs: Sequence[_Roof], drawn: float) -> Iterator[str]:
    yield f"Peaks of {' and of '.join(roof.head for roof in roofs)}."
    circles = (
        "Circles: operators, larger with their share of the time, coloured by what bounds them."
    )
    left = 1 - drawn
    lacking = f" Those with {100 * left:.1f} % of the time have no known operations or bytes."
    yield circles + (lacking if left >= 0.0005 else "")


class _Line(NamedTuple):
    ends: Box
    """From one position to another."""
    dash: str
    label: Text


def _diagonals(roofs: Iterable[tuple[_Roof, float]], x: _Axis, y: _Axis) -> Iterator[_Line]:
    """Yields the lines of levels of memory up to the highest product's, from the edge."""
    listed = [(roof, top, *level) for roof, top in roofs for level in roof.memories.items()]
    for place, (roof, top, name, rate) in enumerate(listed):
        begin = max(x.low, y.low / rate)
        left, low, right, high = x.at(begin), y.at(begin * rate), x.at(top / rate), y.at(top)
        angle = math.degrees(math.atan2(high - low, right - left))
        # Above the line, further along than those of faster memories, which are near it.
        part = min(0.6, BESIDE * (place + 0.5) / (right - left))
        at = left + part * (right - left), low + part * (high - low) - 5
        label = f"{roof.prefix}{name} {_rounded(rate)} GB/s"
        yield _Line(
            (left, low, right, high),
            roof.dash,
            (round(at[0], 1), round(at[1], 1), round(angle, 1), "start", label),
        )


def _levels(roofs: Iterable[_Roof], x: _Axis, y: _Axis) -> Iterator[_Line]:
    """Yields the lines of products of matrices, from the fastest memory's on. Labels that would
    overlap are one."""
    listed = [(rate, dtype, roof) for roof in roofs for dtype, rate in roof.products.items()]
    listed.sort(key=lambda each: -each[0])
    said = ""
    for place, (rate, dtype, roof) in enumerate(listed):
        fastest = max(roof.memories.values(), default=0.0)
        begin = x.at(max(x.low, rate / fastest)) if fastest else LEFT
        said += f"{', ' if said else ''}{roof.prefix}{dtype} {_rounded(rate)}"
        following = listed[place + 1 : place + 2]
        is_apart = not following or y.at(following[0][0]) - y.at(rate) > LINE + 2
        label = f"{said} GFLOP/s" if is_apart else ""
        said = "" if is_apart else said
        yield _Line(
            (begin, y.at(rate), RIGHT, y.at(rate)),
            roof.dash,
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
