"""The contents of a trace: its operators with their calls, tensors, steps, times, and calls that no
case can be made of.

Times in which nothing was recorded: between the topmost operators of a thread, and between the
kernels of a stream.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from opperf.dtypes import DTYPES
from opperf.model import iter_tensors
from opperf.traces.anomalies import Anomalies, Process
from opperf.traces.collectives import BY_BACKEND, Message
from opperf.traces.parts import by_step
from opperf.traces.tensors import Total, total_of
from opperf.traces.trace import Call, Collective, Node, Trace, calls_of, collectives_of, refusal_of

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


def idle_of(spans: Iterable[Span]) -> Idle:
    """Returns how much of a time is between spans, of which there are some, and may overlap."""
    ordered = sorted(spans)
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


def idle_of_kernels(trace: Trace) -> tuple[dict[Stream, Idle], dict[int, Idle]]:
    """Returns the times between kernels by device and stream, and those in which no stream of a
    device had one, by device; empty for a trace without kernels."""
    spans = [
        (kernel, Span(kernel.start_ns, kernel.time_ns, kernel.node))
        for kernel in trace.kernels
        if kernel.start_ns >= 0
    ]
    streams = _by_place(((kernel.device, kernel.stream), span) for kernel, span in spans)
    return streams, _by_place((kernel.device, span) for kernel, span in spans)


Key = TypeVar("Key", int, Stream)


def _by_place(spans: Iterable[tuple[Key, Span]]) -> dict[Key, Idle]:
    found: dict[Key, list[Span]] = defaultdict(list)
    for place, span in spans:
        found[place].append(span)
    return {place: idle_of(found[place]) for place in sorted(found)}


class OperatorUse(NamedTuple):
    """The topmost calls of an operator."""

    operator: str
    phases: tuple[str, ...]
    calls: int
    distinct: int
    """Number of its distinct calls."""
    input_bytes: int
    """Of all calls."""
    time_ns: int
    """Of all calls whose time is known; -1 if none is."""


class Refused(NamedTuple):
    """Calls that no case can be made of."""

    operator: str
    reason: str
    calls: int
    distinct: int


class StepUse(NamedTuple):
    """A step of the program."""

    label: str
    node: int
    calls: int
    """Number of topmost calls in it."""
    operators_ns: int
    """Time of these, as far as it is known; -1 if it is of none."""
    time_ns: int
    """Time of the step; -1 if unknown."""


class MessageUse(NamedTuple):
    """Collective operations that send the same."""

    message: Message
    calls: int
    time_ns: int
    """Of all of them; -1 if unknown."""


class Overview(NamedTuple):
    """The contents of a trace."""

    name: str
    rank: int | None
    world_size: int | None
    schema: str
    """Version of an execution trace; empty for a profiler's."""
    nodes: int
    calls: int
    """Number of topmost calls, collective operations and others that are no case included."""
    operators: tuple[OperatorUse, ...]
    """Those of which there are cases: most time first, or most calls without times."""
    refused: tuple[Refused, ...]
    steps: tuple[StepUse, ...]
    tensors: Total | None
    threads: dict[int, Idle]
    streams: dict[Stream, Idle]
    devices: dict[int, Idle]
    messages: tuple[MessageUse, ...]
    collectives: dict[str, list[Collective]]
    """By process group."""
    names: dict[int, str]
    """Names of the nodes that gaps are between."""
    anomalies: Anomalies
    remarks: tuple[str, ...]

    @property
    def time_ns(self) -> int:
        """Time of the topmost operators of which there are cases; -1 if unknown."""
        return total_ns(use.time_ns for use in self.operators)

    @property
    def process(self) -> Process:
        return Process(self.name, self.rank, self.world_size)


def total_ns(times: Iterable[int]) -> int:
    """Returns the sum of the times that are known; -1 if none is."""
    known = [time for time in times if time >= 0]
    return sum(known) if known else -1


def overview_of(trace: Trace) -> Overview:
    """Returns what is in a trace."""
    groups = list(calls_of(trace))
    built = [group for group in groups if not (group[0].refusal or group[0].collective)]
    refused = [group for group in groups if group[0].refusal or group[0].collective]
    threads = idle_of_threads(trace)
    streams, devices = idle_of_kernels(trace)
    around = {
        number
        for idle in (*threads.values(), *streams.values(), *devices.values())
        for gap in idle.longest
        for number in (gap.before, gap.after)
    }
    return Overview(
        trace.name,
        trace.rank,
        trace.world_size,
        trace.schema,
        len(trace.nodes),
        sum(len(nodes) for _, nodes in groups),
        _operators(trace, built),
        _refused(refused),
        _steps(trace, [node for _, nodes in groups for node in nodes]),
        total_of(trace),
        threads,
        streams,
        devices,
        _messages(refused),
        collectives_of(trace),
        {number: trace.nodes[number].name for number in around if number in trace.nodes},
        trace.anomalies,
        tuple(trace.remarks),
    )


Group = tuple[Call, list[Node]]
"""A distinct call and its nodes."""


def operator_of(call: Call) -> str:
    """Returns the name of a call's operator with its overload."""
    return f"{call.path}.{call.overload}" if call.overload else call.path


def input_bytes(call: Call) -> int:
    """Returns the bytes of a call's tensors, those of views too."""
    return sum(
        spec.size * DTYPES[spec.dtype].bytes
        for _, value in call.arguments
        for spec in iter_tensors(value)
    )


def _operators(trace: Trace, groups: Sequence[Group]) -> tuple[OperatorUse, ...]:
    by_operator: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        by_operator[operator_of(group[0])].append(group)
    made = []
    for operator, own in by_operator.items():
        nodes = [node for _, found in own for node in found]
        made.append(
            OperatorUse(
                operator,
                tuple(sorted({trace.place(node).phase for node in nodes})),
                len(nodes),
                len(own),
                sum(input_bytes(call) * len(found) for call, found in own),
                total_ns(node.recorded_ns for node in nodes),
            )
        )
    return tuple(sorted(made, key=lambda use: (-use.time_ns, -use.calls)))


def _refused(groups: Sequence[Group]) -> tuple[Refused, ...]:
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for call, nodes in groups:
        found[refusal_of(call)].append(len(nodes))
    made = [
        Refused(operator, reason, sum(counts), len(counts))
        for (operator, reason), counts in found.items()
    ]
    return tuple(sorted(made, key=lambda found: -found.calls))


def _messages(groups: Sequence[Group]) -> tuple[MessageUse, ...]:
    made = [
        MessageUse(call.message, len(nodes), total_ns(node.recorded_ns for node in nodes))
        for call, nodes in groups
        if call.message is not None
    ]
    return tuple(sorted(made, key=lambda use: (-use.time_ns, -use.calls)))


def _steps(trace: Trace, nodes: Sequence[Node]) -> tuple[StepUse, ...]:
    return tuple(
        StepUse(
            label.name,
            label.id,
            len(own),
            total_ns(node.recorded_ns for node in own),
            label.time_ns,
        )
        for label, own in by_step(trace, nodes)
    )
