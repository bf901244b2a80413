"""A trace: its nodes, which of them are calls of operators, and where in the program they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from opperf.model import Argument, Struct, iter_tensors
from opperf.rules.shapes import Shape
from opperf.traces.anomalies import Anomalies, Process, sentences
from opperf.traces.archives import Contents
from opperf.traces.collectives import POINT_TO_POINT, WAIT, Message
from opperf.traces.values import Ref

NO_CALL = -1
"""Index of the call of a node that is no operator."""


FRAMEWORK = "torch"
"""The framework that writes such traces."""

COLLECTIVE_REASON = "a collective operation, which takes several processes"


class Call(Struct, frozen=True):
    """A distinct call: an operator with its arguments."""

    path: str
    """Namespace and name, as `aten.add`; of what is no operator of PyTorch's, its name."""
    overload: str
    """`default` for one without a name; empty where the trace does not say it."""
    arguments: tuple[tuple[str, Argument], ...]
    """By name, or by position as `0`, `1` ..., where the trace has no names."""
    schema: str = ""
    notes: tuple[str, ...] = ()
    """A few words on each change of an argument."""
    refusal: str = ""
    """Why no case can be made of it."""
    collective: str = ""
    """Name of the collective operation that it is: `all_reduce`; empty for an operator."""
    message: Message | None = None
    """Its data; None for an operator."""
    device: str = ""
    """That of most of its tensors, without its number; empty if the trace does not say it."""


class Node(msgspec.Struct):
    """One entry of a trace: a call of an operator, or a label."""

    id: int
    parent: int
    name: str
    call: int = NO_CALL
    """Index of its distinct call."""
    rf_id: int = 0
    """Number of the call, by which traces of one program are joined."""
    seq_id: int = -1
    """Number that a call of the forward pass and those of its backward pass have; of a collective
    operation, that in its process group."""
    thread: int = 0
    inputs: tuple[Ref, ...] = ()
    outputs: tuple[Ref, ...] = ()
    output_specs: int = NO_CALL
    """Index of the distinct outputs."""
    start_ns: int = -1
    """Since the beginning of the trace; -1 if unknown."""
    time_ns: int = -1
    """Time on the host; -1 if unknown."""
    kernel_ns: int = -1
    """Time of its kernels on a device; -1 if unknown or none."""

    @property
    def recorded_ns(self) -> int:
        """Time of its kernels, or on the host where it has none; -1 if unknown."""
        return self.kernel_ns if self.kernel_ns >= 0 else self.time_ns


class Kernel(NamedTuple):
    """A kernel or copy on a device."""

    device: int
    stream: int
    start_ns: int
    """Since the beginning of the trace; -1 if unknown."""
    time_ns: int
    node: int
    """Number of the topmost operator that launched it; 0 for none."""


class Place(NamedTuple):
    """Where in the program a node is."""

    labels: tuple[str, ...]
    """Those of the program around it, the outermost first."""
    phase: str
    """`forward`, `backward` or `optimizer`."""
    step: str
    """Label of its step, `ProfilerStep#3`; empty outside of one."""
    is_loading: bool = False
    """Whether it is below a data loader's label."""
    is_in_operator: bool = False


BACKWARD = "autograd::engine::evaluate_function"
OPTIMIZER = "Optimizer.step#"
STEP = re.compile(r"\W*(ProfilerStep|loop|iter|iteration|step|batch)\W*\d+\W*", re.IGNORECASE)
"""A label of a step: the profiler's own, and those that people use."""

LOADER = re.compile(r"DataLoader")
"""A label of a data loader's work."""

INTERNAL = re.compile(r"\[pytorch\|profiler\||autograd::|ProfilerStep|.*Backward\d*$")
"""Labels that say nothing of the program's own structure."""

MARK = "##"
"""Marks around labels that people write: `## encoder ##`."""


FORWARD = "forward"
PHASES = {BACKWARD: "backward", OPTIMIZER: "optimizer"}
"""Phases of what is below labels that begin so."""

TOP = Place((), FORWARD, "")


def unmarked(name: str) -> str:
    """Returns a label without the marks around it: `## encoder ##`."""
    if len(name) > 2 * len(MARK) and name.startswith(MARK) and name.endswith(MARK):
        return name[len(MARK) : -len(MARK)].strip()
    return name


MOST_LABELS = 64
"""Most labels of a place; programs nest fewer."""


class Trace:
    """The nodes of one process. Its distinct calls are built once."""

    def __init__(self, name: str, rank: int | None = None) -> None:
        self.name = name
        self.rank = rank
        self.schema = ""
        """Version of the format."""
        self.nodes: dict[int, Node] = {}
        self.calls: list[Call] = []
        self.outputs: list[tuple[Argument, ...]] = []
        """Distinct outputs of calls."""
        self.contents: Contents = {}
        """Contents of integer inputs, where the trace has them."""
        self.kernels: list[Kernel] = []
        self.anomalies = Anomalies()
        self.remarks: list[str] = []
        """Sentences on what is not wrong."""
        self.world_size: int | None = None
        self._known: dict[Hashable, int] = {}
        self._places: dict[int, Place] = {}

    @property
    def process(self) -> Process:
        return Process(self.name, self.rank, self.world_size)

    @property
    def notes(self) -> list[str]:
        """Sentences on what is wrong in it, and on what is not."""
        return [*sentences(self.anomalies, self.name), *self.remarks]

    def is_operator(self, node: Node) -> bool:
        """Whether a node is a call of an operator."""
        return node.call != NO_CALL

    def returned(self, node: Node) -> tuple[Shape, ...]:
        """Returns the shapes of what a call returned; none where some are unknown."""
        outputs = self.outputs[node.output_specs] if node.output_specs != NO_CALL else ()
        found = tuple(spec.shape for value in outputs for spec in iter_tensors(value))
        return found if None not in outputs else ()

    def is_step(self, node: Node) -> bool:
        """Whether a node is the label of a step."""
        return STEP.fullmatch(node.name) is not None

    def topmost(self) -> Iterator[Node]:
        """Yields the calls that no other operator makes, in the order of their ids."""
        for identity in sorted(self.nodes):
            node = self.nodes[identity]
            if self.is_operator(node) and not self.place(node).is_in_operator:
                yield node

    def ancestors(self, identity: int) -> list[Node]:
        """Returns the nodes above one, from its parent on; up to the first one that is met twice,
        as the topmost is its own parent."""
        found: list[Node] = []
        seen = {identity}
        node = self.nodes.get(identity)
        while node is not None and node.parent not in seen:
            seen.add(node.parent)
            node = self.nodes.get(node.parent)
            if node is not None:
                found.append(node)
        return found

    def place(self, node: Node) -> Place:
        """Returns where a node is."""
        identity = node.parent
        path: list[Node] = []
        seen = {node.id}
        while identity not in self._places and identity in self.nodes and identity not in seen:
            seen.add(identity)
            path.append(self.nodes[identity])
            identity = path[-1].parent
        # Places of what is below are known only now, so that a deep trace takes one walk.
        # An operator that is its own ancestor is not below itself.
        place = TOP if identity in seen else self._places.get(identity, TOP)
        for above in reversed(path):
            place = self._places[above.id] = self._below(place, above)
        return place

    def _below(self, place: Place, node: Node) -> Place:
        if LOADER.search(node.name):
            place = place._replace(is_loading=True)
        phase = next(
            (phase for begin, phase in PHASES.items() if node.name.startswith(begin)), FORWARD
        )
        is_step = self.is_step(node)
        if is_step:
            place = place._replace(step=node.name)
        if self.is_operator(node):
            place = place._replace(is_in_operator=True)
        elif not is_step and not INTERNAL.match(node.name) and len(place.labels) < MOST_LABELS:
            place = place._replace(labels=(*place.labels, unmarked(node.name)))
        return place if place.phase != FORWARD else place._replace(phase=phase)

    def outer_steps(self) -> list[Node]:
        """Returns the labels of steps that are in no other one's, in their order."""
        found = []
        for identity in sorted(self.nodes):
            node = self.nodes[identity]
            if self.is_step(node) and not self.place(node).step:
                found.append(node)
        return found

    def call_index(self, key: Hashable, make: Callable[[], Call]) -> int:
        """Returns the index of the distinct call of a key; of a new key, of the call that is made,
        unless another key has an equal one."""
        if key not in self._known:
            call = make()
            # As text, in which 1, 1.0 and true differ.
            index = self._known.setdefault(msgspec.json.encode(call), len(self.calls))
            if index == len(self.calls):
                self.calls.append(call)
            self._known[key] = index
        return self._known[key]

    def outputs_index(self, key: Hashable, make: Callable[[], tuple[Argument, ...]]) -> int:
        """Returns the index of the distinct outputs of a key, made of a new one."""
        if key not in self._known:
            self.outputs.append(make())
            self._known[key] = len(self.outputs) - 1
        return self._known[key]


class Collective(NamedTuple):
    """A collective operation as one rank made it."""

    node: int
    message: Message
    order: tuple[int, int]
    """By which it is that of other ranks: its number in the group, or its position where the trace
    has none; and how many earlier ones have that number."""
    time_ns: int
    """Of its kernels, or on the host where it has none; -1 if unknown."""


def collectives_of(trace: Trace) -> dict[str, list[Collective]]:
    """Returns the collective operations of whole process groups, in their order."""
    found: dict[str, list[tuple[Node, Message]]] = {}
    for node in trace.topmost():
        message = trace.calls[node.call].message
        if message is not None and message.name not in {WAIT, *POINT_TO_POINT}:
            found.setdefault(message.group, []).append((node, message))
    return {group: _ordered(members) for group, members in found.items()}


def _ordered(members: Sequence[tuple[Node, Message]]) -> list[Collective]:
    has_numbers = all(node.seq_id >= 0 for node, _ in members)
    earlier: dict[int, int] = {}
    made = []
    for position, (node, message) in enumerate(members):
        number = node.seq_id if has_numbers else position
        order = (number, earlier.get(number, 0))
        earlier[number] = order[1] + 1
        made.append(Collective(node.id, message, order, node.recorded_ns))
    return made


def refusal_of(call: Call) -> tuple[str, str]:
    """Returns the name of a call that is no case, and why."""
    return (call.collective, COLLECTIVE_REASON) if call.collective else (call.path, call.refusal)


def calls_of(trace: Trace) -> Iterator[tuple[Call, list[Node]]]:
    """Yields the distinct calls of topmost operators with their nodes."""
    nodes: dict[int, list[Node]] = {}
    for node in trace.topmost():
        nodes.setdefault(node.call, []).append(node)
    for index, own in nodes.items():
        yield trace.calls[index], own
