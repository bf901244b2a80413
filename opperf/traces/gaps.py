"""Times in which nothing was recorded: between the topmost operators of a thread, and between the
kernels of a stream."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from opperf.traces.collectives import BY_BACKEND
from opperf.traces.trace import Trace

LONGEST = 10
"""Gaps of a thread or stream that are kept, the longest: those that a reader looks at."""


class Span(NamedTuple):
    """The time of an operator or a kernel."""

    start_ns: int
    time_ns: int
    node: int
    """Number of the operator."""


class Gap(NamedTuple):
    """A time between two spans."""

    time_ns: int
    start_ns: int
    before: int
    """Number of the operator before it; 0 if unknown."""
    after: int


class Idle(NamedTuple):
    """How much of a time is between spans."""

    spans: int
    """Number of spans."""
    span_ns: int
    """From the beginning of the first to the end of the last."""
    busy_ns: int
    """Of these, in at least one span."""
    gaps: int
    """Number of gaps."""
    longest: tuple[Gap, ...]

    @property
    def idle_ns(self) -> int:
        """Time in no span."""
        return self.span_ns - self.busy_ns


def idle_of(spans: Iterable[Span]) -> Idle | None:
    """Returns how much of a time is between spans, which may overlap; None without any."""
    ordered = sorted(spans)
    if not ordered:
        return None
    first, end, last = ordered[0].start_ns, ordered[0].start_ns, ordered[0].node
    gaps: list[Gap] = []
    for span in ordered:
        if span.start_ns > end:
            gaps.append(Gap(span.start_ns - end, end, last, span.node))
        if span.start_ns + span.time_ns >= end:
            end, last = span.start_ns + span.time_ns, span.node
    return Idle(
        len(ordered),
        end - first,
        end - first - sum(gap.time_ns for gap in gaps),
        len(gaps),
        tuple(heapq.nlargest(LONGEST, gaps)),
    )


def idle_of_threads(trace: Trace) -> dict[int, Idle]:
    """Returns the times between topmost operators by thread; empty for a trace without times.
    Collective operations that run beside their thread are none of it."""
    spans = (
        (node.thread, Span(node.start_ns, node.time_ns, node.id))
        for node in trace.topmost()
        if node.start_ns >= 0 and node.time_ns >= 0 and not BY_BACKEND.fullmatch(node.name)
    )
    return _by_place(spans)


Stream = tuple[int, int]
"""Numbers of a device and of a stream of it."""


def idle_of_streams(trace: Trace) -> dict[Stream, Idle]:
    """Returns the times between kernels by device and stream; empty for a trace without
    kernels."""
    return _by_place(
        ((kernel.device, kernel.stream), Span(kernel.start_ns, kernel.time_ns, kernel.node))
        for kernel in trace.kernels
        if kernel.start_ns >= 0
    )


def idle_of_devices(trace: Trace) -> dict[int, Idle]:
    """Returns the times in which no stream of a device had a kernel, by device."""
    return _by_place(
        (kernel.device, Span(kernel.start_ns, kernel.time_ns, kernel.node))
        for kernel in trace.kernels
        if kernel.start_ns >= 0
    )


Key = TypeVar("Key", int, Stream)


def _by_place(spans: Iterable[tuple[Key, Span]]) -> dict[Key, Idle]:
    found: dict[Key, list[Span]] = defaultdict(list)
    for place, span in spans:
        found[place].append(span)
    return {place: idle for place in sorted(found) if (idle := idle_of(found[place]))}
