"""Traces of PyTorch's profiler (Kineto), Chrome's format: calls of operators with their times, and
with shapes where the profiler recorded them.

They have no outputs, storages or overloads. Calls are nested by their times on a thread.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from opperf.decoding import JsonObject
from opperf.model import Argument, Element, Number, TensorSpec
from opperf.traces.anomalies import Anomaly
from opperf.traces.chrome_events import LONGEST_NS, ChromeEvent, events_of
from opperf.traces.collectives import BY_BACKEND, SEQUENCE, message_of, of_shapes
from opperf.traces.execution_trace import TRITON, TRITON_REFUSAL, collective_call
from opperf.traces.kernels import HostEvent, Launch, Work, add_kernels, launch_of, work_of
from opperf.traces.trace import NO_CALL, Call, Node, Trace
from opperf.traces.values import Unbuildable, element, integer_or, is_integer, tensor_of

OPERATORS = "cpu_op"
LABELS = ("user_annotation",)
MODULE = "nn.Module: "
"""Beginning of the names of Python calls that are modules'; others say nothing of the program."""

LAUNCHES = ("cuda_runtime", "cuda_driver", "hip_runtime")
KERNELS = ("kernel", "gpu_memcpy", "gpu_memset")

NO_SHAPES = "the trace has no shapes; record it with record_shapes=True"
NO_NUMBERS = "numbers are not in the trace, defaults are used"
LISTED = "float32"
"""Dtype of the tensors of lists, of which the trace has the shapes alone."""

NO_DTYPES = f"the dtype of tensors in lists is not in the trace, {LISTED} is used"

TRUNCATED_NS = 2000
"""How much later than the call around it one may seem to end: older profilers cut beginnings and
durations to microseconds, and larger clocks are rounded to a quarter of one."""

NOT_OPERATORS = ("autograd", "torch", "c10d", "prim", "cuda", "profiler")
"""Namespaces of what is no operator of its own."""


CATEGORIES = frozenset((OPERATORS, *LABELS, "python_function", *LAUNCHES, *KERNELS))
"""Categories of the events that are read."""


def read_events(trace: Trace, objects: Iterable[Mapping[str, Any]]) -> None:
    """Adds the nodes of a trace, with kernels' times at the topmost operators."""
    hosts: list[HostEvent] = []
    launches: list[Launch] = []
    works: list[Work] = []
    threads: dict[Hashable, int] = {}
    count = itertools.count()
    counted = (raw for raw, _ in zip(objects, count, strict=False))
    for event in events_of(counted, CATEGORIES, trace.anomalies):
        if event.category in KERNELS:
            works.append(work_of(event))
            continue
        thread = threads.setdefault((event.process, event.thread), len(threads) + 1)
        if event.category in LAUNCHES:
            launches.append(launch_of(event, thread))
        elif (made := _event(trace, event, thread)) is not None:
            hosts.append(made)
    ordered = _nest(trace, hosts)
    if not any(event.node.call != NO_CALL for event in ordered):
        trace.anomalies[Anomaly.NO_OPERATOR] = next(count)
    add_kernels(trace, ordered, launches, works)
    _place_in_time(trace, ordered)


def _event(trace: Trace, event: ChromeEvent, thread: int) -> HostEvent | None:
    """A call, or a label; None for any other event."""
    name, category, args = event.name, event.category, event.args
    call = NO_CALL
    sequence = integer_or(args.get("Sequence number"), -1)
    message = message_of(name, args) if category in (OPERATORS, *LABELS) else None
    if message is not None:
        message = of_shapes(message, args.get("Input Dims"), args.get("Input type"))
        call = collective_call(trace, name, message)
        sequence = integer_or(args.get(SEQUENCE), -1)
    elif category == OPERATORS:
        call = _call_of(trace, name, args)
    elif category == "python_function" and name.startswith(MODULE):
        name = name.removeprefix(MODULE)
    elif category not in LABELS:
        return None
    node = Node(
        0,
        0,
        name,
        call=call,
        rf_id=integer_or(args.get("Record function id")),
        seq_id=sequence,
        thread=thread,
        time_ns=event.time,
    )
    return HostEvent(event.begin, event.end, node)


def _call_of(trace: Trace, name: str, args: JsonObject) -> int:
    """-1 of what is no operator."""
    namespace, separator, own = name.partition("::")
    is_triton = args.get("kernel_backend") == TRITON
    is_named = separator and own.isidentifier() and namespace.partition(".")[0] not in NOT_OPERATORS
    if not (is_triton or is_named):
        return -1
    shown = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
    parts = [args.get(key) for key in shown]
    key = (name, msgspec.json.encode(parts))
    return trace.call_index(
        key,
        lambda: (
            Call(name, "", (), refusal=TRITON_REFUSAL)
            if is_triton
            else _built(name.replace("::", "."), parts)
        ),
    )


def _built(path: str, parts: Sequence[Any]) -> Call:
    dims, types, strides, concrete = (part if isinstance(part, list) else None for part in parts)
    if dims is None or types is None:
        return Call(path, "", (), refusal=NO_SHAPES)
    try:
        made = list(_arguments(dims, types, strides, concrete))
    except Unbuildable as error:
        return Call(path, "", (), refusal=str(error))
    has_numbers = concrete is not None or not any(kind in NUMBERS for kind in types)
    notes = ("" if has_numbers else NO_NUMBERS, NO_DTYPES if TENSORS in types else "")
    return Call(path, "", tuple(made), notes=tuple(filter(None, notes)))


NUMBERS = ("Scalar", "ScalarList")
TENSORS = "TensorList"
"""Types of arguments, beside the dtypes of tensors."""


def _arguments(
    dims: list[Any], types: list[Any], strides: list[Any] | None, concrete: list[Any] | None
) -> Iterator[tuple[str, Argument]]:
    """Yields the arguments by position; None for those that are not recorded."""
    for index, kind in enumerate(types):
        shape, steps = element(dims, index), element(strides, index)
        text = str(concrete[index]) if concrete and index < len(concrete) else ""
        if kind == TENSORS:
            yield str(index), tuple(_tensors_of(shape, steps))
        elif kind in (*NUMBERS, "", None):
            # None where the trace does not say it, so that the others keep their positions.
            yield str(index), parse_concrete(text)
        else:
            yield str(index), tensor_of(str(kind), shape, steps)


def _tensors_of(shapes: Any, strides: Any) -> Iterator[TensorSpec]:
    if not isinstance(shapes, list):
        raise Unbuildable("a list of tensors without their shapes")
    for place, shape in enumerate(shapes):
        yield tensor_of(LISTED, shape, element(strides, place))


def parse_concrete(text: str) -> Argument:
    """Returns the argument of a value that is written as text: `1`, `0.5`, `True`, `[1, 1]`, or
    what is none of these as a string. Raises `Unbuildable` for a number of more than 64 bits."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return tuple(_parse_element(part) for part in text[1:-1].split(",") if part.strip())
    return _parse_element(text)


def _parse_element(text: str) -> Element:
    text = text.strip()
    if text in WORDS:
        return WORDS[text]
    for read in (int, float):
        try:
            number = read(text)
        except ValueError:
            continue
        if isinstance(number, int) and not is_integer(number):
            raise Unbuildable(f"an integer of the value {text[:20]!r}")
        return number if math.isfinite(number) else Number.of(number)
    return text


WORDS: Mapping[str, Element] = {"True": True, "False": False, "None": None, "": None}


def _nest(trace: Trace, events: Sequence[HostEvent]) -> list[HostEvent]:
    """Adds the events' nodes, each below the one on its thread in whose time it is, and returns
    the events in the order of the nodes' numbers, from 1 on."""
    ordered: list[HostEvent] = []
    above: dict[int, list[int]] = defaultdict(list)
    seen: set[Hashable] = set()
    moment = None
    for event in sorted(events, key=lambda one: (one.begin, -one.end)):
        if (event.begin, event.end) != moment:
            moment = (event.begin, event.end)
            seen.clear()
        # Short calls of one name can have equal times; their numbers differ.
        node = event.node
        content = msgspec.structs.astuple(node)
        if node.rf_id and content in seen:
            trace.anomalies[Anomaly.REPEATED] += 1
            continue
        seen.add(content)
        around = above[node.thread]
        overlaps = False
        while around and not _is_within(event, outer := ordered[around[-1] - 1]):
            overlaps = overlaps or _overlaps(event, outer)
            around.pop()
        if overlaps:
            trace.anomalies[Anomaly.OVERLAPPING] += 1
        ordered.append(event)
        node.id, node.parent = len(ordered), around[-1] if around else 0
        trace.nodes[node.id] = node
        around.append(node.id)
    return ordered


def _is_within(event: HostEvent, outer: HostEvent) -> bool:
    if event.end <= outer.end:
        return True
    return event.begin < outer.end and event.end <= outer.end + TRUNCATED_NS


def _overlaps(event: HostEvent, outer: HostEvent) -> bool:
    """Whether a call is partly in another one's time, as no thread makes them; backends' collective
    operations run beside their thread."""
    nodes = (event.node, outer.node)
    if event.begin >= outer.end or any(node.call == NO_CALL for node in nodes):
        return False
    return not any(BY_BACKEND.fullmatch(node.name) for node in nodes)


def _place_in_time(trace: Trace, ordered: Sequence[HostEvent]) -> None:
    """Counts times from the first one on, without those that no clock of the trace can have."""
    begins = sorted(
        [*(event.begin for event in ordered), *(kernel.start_ns for kernel in trace.kernels)]
    )
    if not begins:
        return
    middle = begins[len(begins) // 2]
    near = range(middle - LONGEST_NS, middle + LONGEST_NS + 1)
    first = begins[bisect.bisect_left(begins, near.start)]
    for event in ordered:
        event.node.start_ns = event.begin - first if event.begin in near else -1
    trace.kernels = [
        kernel._replace(start_ns=kernel.start_ns - first if kernel.start_ns in near else -1)
        for kernel in trace.kernels
    ]
    astray = sum(begin not in near for begin in begins)
    if astray:
        trace.anomalies[Anomaly.ASTRAY] = astray
