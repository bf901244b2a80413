"""Kernels of a profiler's trace, and which operator launched each."""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from opperf.traces.anomalies import Anomalies, Anomaly
from opperf.traces.chrome_events import ChromeEvent
from opperf.traces.collectives import whole
from opperf.traces.trace import Kernel, Node, Trace
from opperf.traces.values import integer_or

LAUNCHING = "LaunchKernel"
"""In the names of runtimes' functions that launch a kernel each; others may have no work."""

CLOCKS_NS = 2000
"""How much earlier than its launch a kernel may seem to begin: times may be whole microseconds."""


class HostEvent(NamedTuple):
    """An event of a thread of the host."""

    begin: int
    """Nanoseconds of the trace's clock."""
    end: int
    """As far as what else is on the thread is within it."""
    node: Node
    """Its call, or its label."""


class Launch(NamedTuple):
    """A call of the host that begins work on a device."""

    correlation: int
    external: int
    """Number of the operator around it; 0 if unknown."""
    begin: int
    thread: int
    name: str


class Work(NamedTuple):
    """A kernel or copy of a device."""

    correlation: int
    """Number of the launch; 0 if unknown."""
    external: int
    begin: int
    time: int
    """-1 if unknown."""
    device: int
    stream: int
    name: str
    graph_node: int


def _number(event: ChromeEvent, name: str) -> int:
    """Some profilers write it as text; 0 without it."""
    return whole(event.args.get(name)) or 0


def launch_of(event: ChromeEvent, thread: int) -> Launch:
    """Returns the launch that an event of a thread is."""
    return Launch(
        _number(event, "correlation"),
        _number(event, "External id"),
        event.begin,
        thread,
        event.name,
    )


def work_of(event: ChromeEvent) -> Work:
    """Returns the work that an event of a device is."""
    device, stream = (integer_or(event.args.get(key)) for key in ("device", "stream"))
    return Work(
        _number(event, "correlation"),
        _number(event, "External id"),
        event.begin,
        event.time,
        device,
        stream,
        event.name,
        _number(event, "graph node id"),
    )


def add_kernels(
    trace: Trace, ordered: Sequence[HostEvent], launches: Iterable[Launch], works: Sequence[Work]
) -> None:
    """Adds the kernels, and their times to the topmost operators in which they were launched.
    `ordered` are the events of the nodes, by their numbers."""
    found = Anomalies()
    by_number: dict[int, list[Launch]] = defaultdict(list)
    # Of a file that was merged with itself, each once.
    for begun in dict.fromkeys(launches):
        if begun.correlation:
            by_number[begun.correlation].append(begun)
    kernels: dict[int, list[Work]] = defaultdict(list)
    for work in sorted(_distinct(works, found), key=lambda work: work.begin):
        kernels[work.correlation].append(work)
    operators = _Operators(trace, ordered)
    for correlation, own in kernels.items():
        known = by_number.get(correlation, [])
        for work, launch in zip(own, _launches(own, known, found), strict=True):
            node = None if launch is None else operators.around(launch)
            if launch is not None:
                found[Anomaly.EARLY] += work.begin < launch.begin - CLOCKS_NS
                found[Anomaly.OUTSIDE] += node is None
            if work.time < 0:
                found[Anomaly.KERNEL_TIME] += 1
                continue
            if node is not None:
                node.kernel_ns = max(node.kernel_ns, 0) + work.time
            number = 0 if node is None else node.id
            trace.kernels.append(Kernel(work.device, work.stream, work.begin, work.time, number))
    found[Anomaly.NO_KERNEL] = sum(
        correlation not in kernels and any(LAUNCHING in launch.name for launch in own)
        for correlation, own in by_number.items()
    )
    trace.anomalies.update(+found)


def _distinct(works: Sequence[Work], anomalies: Anomalies) -> Iterable[Work]:
    """Each once: no stream has two of one name, launch and time."""
    numbered = [work for work in works if work.correlation]
    distinct = dict.fromkeys(numbered)
    anomalies[Anomaly.REPEATED] += len(numbered) - len(distinct)
    return [*distinct, *(work for work in works if not work.correlation)]


def _launches(
    works: Sequence[Work], launches: Sequence[Launch], anomalies: Anomalies
) -> Sequence[Launch | None]:
    """Of kernels in the order of times; None where it is unknown."""
    if not works[0].correlation or not launches:
        wrong = Anomaly.NO_LAUNCH if works[0].correlation else Anomaly.NO_CORRELATION
        anomalies[wrong] += len(works)
        return [None] * len(works)
    if len(launches) == 1:
        # A graph of kernels has one launch.
        return [launches[0]] * len(works)
    by_operator = {launch.external: launch for launch in launches if launch.external}
    if len(by_operator) == len(launches) and all(work.external in by_operator for work in works):
        return [by_operator[work.external] for work in works]
    if len(launches) == len(works):
        anomalies[Anomaly.SAME_LAUNCH] += len(works)
        return sorted(launches, key=lambda launch: launch.begin)
    anomalies[Anomaly.UNCLEAR_LAUNCH] += len(works)
    return [None] * len(works)


class _Operators:
    """The topmost operators by thread and time."""

    def __init__(self, trace: Trace, ordered: Sequence[HostEvent]) -> None:
        self._events = ordered
        self._nodes: Mapping[int, list[Node]] = defaultdict(list)
        for top in trace.topmost():
            self._nodes[top.thread].append(top)
        self._begins: dict[int, list[int]] = {}
        self._longest: dict[int, list[Node]] = {}
        """Those that end last of all until each."""
        for thread, nodes in self._nodes.items():
            self._begins[thread] = [ordered[node.id - 1].begin for node in nodes]
            self._longest[thread] = list(itertools.accumulate(nodes, self._later))

    def _later(self, one: Node, other: Node) -> Node:
        return max(other, one, key=self._end)

    def _end(self, node: Node) -> int:
        return self._events[node.id - 1].end

    def around(self, launch: Launch) -> Node | None:
        """Returns the topmost operator in which a launch was made; None if there is none."""
        index = bisect.bisect_right(self._begins.get(launch.thread, []), launch.begin) - 1
        if index < 0:
            return None
        # The latest, or of calls that overlap one that had not ended.
        for nodes in (self._nodes, self._longest):
            node = nodes[launch.thread][index]
            if launch.begin <= self._end(node):
                return node
        return None
