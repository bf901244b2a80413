"""The paths of calls in two dumps, for a flame graph.

A dump has sums for each pair of caller and callee, and no paths: a function that several others
call is divided among the paths in proportion to the counts of these calls, as gprof does. A
recursive call is part of the function's frame that is nearest to the root. So how a function's
counts divide among paths is an estimate, and their sum is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from opperf.comparison.explaining.callgrind import Dump
from opperf.comparison.explaining.functions import (
    PYTHON_FRAMES,
    Flow,
    Function,
    cycles_of,
    is_python_frame,
)

DEPTH = 80
"""Most calls of a path: a page of 80 lines; deeper ones are part of the last frame."""

FOLLOWED = 0.0002
"""Share of the total below which a call is no longer followed, and belongs to its caller: a fifth
of what is drawn, so that no frame is drawn as new because the other dump has less of it."""

DRAWN = 0.001
"""Share of the total of the narrowest frame: a pixel."""

ALL = Function("all", "")
"""The root of all paths."""


@dataclass
class Frame:
    """A function on one path of calls."""

    function: Function
    own: float = 0.0
    """Counts of its own code and of what is not followed, per call of the operator."""
    total: float = 0.0
    callees: dict[Function, Frame] = field(default_factory=dict)

    def add_up(self) -> float:
        self.total = self.own + sum(frame.add_up() for frame in self.callees.values())
        return self.total

    def callee(self, function: Function) -> Frame:
        return self.callees.setdefault(function, Frame(function))


class Box(NamedTuple):
    """A frame to draw."""

    function: Function
    depth: int
    begin: float
    base: float
    """Counts per call of the operator; 0 if the path is new."""
    new: float

    @property
    def change(self) -> float:
        return self.new - self.base


class Graph(NamedTuple):
    """The frames of a flame graph: the paths of the new dump, with the difference to the base."""

    boxes: tuple[Box, ...]
    total: float
    vanished: tuple[Box, ...]
    """Frames of paths that only the base has, the widest first; they are not drawn."""


def make_graph(base: Dump, new: Dump, event: str, python: bool = True) -> Graph:
    """Returns the frames of the new dump; without `python` the interpreter's own are one."""
    place = new.events.index(event)
    before, after = (_Expansion(dump, place, python).root for dump in (base, new))
    total = after.total
    boxes = tuple(_boxes(before, after, 0, 0.0, DRAWN * total))
    vanished = sorted(_vanished(before, after, 0), key=lambda box: -box.base)
    return Graph(boxes, total, tuple(box for box in vanished if box.base >= DRAWN * total))


class _Expansion:
    """Follows the calls of a dump from the functions that were running when it began."""

    def __init__(self, dump: Dump, event: int, python: bool) -> None:
        self._flow = flow = Flow(dump, cycles_of(dump), event)
        self._functions = [Function(node.name, node.object) for node in dump.nodes]
        self._is_folded = [not python and is_python_frame(function) for function in self._functions]
        self._least = FOLLOWED * flow.total
        self._callees: list[list[tuple[int, int]]] = [[] for _ in dump.nodes]
        for caller, callee, count in flow.calls:
            self._callees[caller].append((callee, count))
        self._parts: list[tuple[Frame, int, float]] = []
        """Frames with their function's node and what they have of its own counts."""
        self._rests: list[tuple[Frame, float]] = []
        self.root = Frame(ALL)
        for node, count in enumerate(flow.unexplained):
            if count >= self._least:
                self._follow(node, count, self.root, ())
        self._add_up(1 / dump.calls)

    def _follow(self, node: int, count: float, caller: Frame, path: tuple[int, ...]) -> None:
        flow = self._flow
        if self._is_folded[node]:
            frame, own = caller, self.root.callee(PYTHON_FRAMES)
        else:
            frame = own = caller.callee(self._functions[node])
        share = min(1.0, count / flow.limits[node]) if flow.limits[node] else 0.0
        self._parts.append((own, node, flow.own[node] * share))
        path = (*path, node)
        for callee, whole in self._callees[node]:
            if callee in path:
                continue
            part = min(count, whole * share)
            if part < self._least or len(path) >= DEPTH:
                self._rests.append((own, part))
            else:
                self._follow(callee, part, frame, path)

    def _add_up(self, per_call: float) -> None:
        """Sets own counts, scaled to those of each function and of the dump."""
        flow = self._flow
        estimates = [0.0] * len(flow.own)
        for _, node, part in self._parts:
            estimates[node] += part
        for frame, node, part in self._parts:
            if estimates[node]:
                frame.own += per_call * part * flow.own[node] / estimates[node]
        left = flow.total - sum(own for own, has in zip(flow.own, estimates, strict=True) if has)
        rests = sum(part for _, part in self._rests)
        for frame, part in self._rests:
            frame.own += per_call * part * left / rests if rests else 0.0
        self.root.add_up()


def _boxes(base: Frame | None, new: Frame, depth: int, begin: float, least: float) -> Iterator[Box]:
    """Yields the frames that are wide enough, callers before callees, the widest first."""
    total = new.total
    if total < least:
        return
    yield Box(new.function, depth, begin, base.total if base else 0.0, total)
    for callee in sorted(new.callees.values(), key=lambda frame: (-frame.total, frame.function)):
        before = base.callees.get(callee.function) if base else None
        yield from _boxes(before, callee, depth + 1, begin, least)
        begin += callee.total


def _vanished(base: Frame, new: Frame, depth: int) -> Iterator[Box]:
    """Yields the frames at which paths of the base leave those of the new dump."""
    for function, callee in base.callees.items():
        after = new.callees.get(function)
        if after is None:
            yield Box(function, depth + 1, 0.0, callee.total, 0.0)
        else:
            yield from _vanished(callee, after, depth + 1)
