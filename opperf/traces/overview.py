"""The contents of a trace: its operators with their calls, tensors, steps, times, and calls that no
case can be made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opperf.dtypes import DTYPES
from opperf.model import iter_tensors
from opperf.traces.anomalies import Anomalies, Process
from opperf.traces.collectives import Message
from opperf.traces.gaps import Idle, Stream, idle_of_devices, idle_of_streams, idle_of_threads
from opperf.traces.parts import by_step
from opperf.traces.tensors import Total, total_of
from opperf.traces.trace import Call, Collective, Node, Trace, calls_of, collectives_of, refusal_of


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
    threads, streams, devices = (
        idle_of_threads(trace),
        idle_of_streams(trace),
        idle_of_devices(trace),
    )
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
    """Returns the outermost steps."""
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
