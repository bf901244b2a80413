"""Traces of PyTorch's profiler (Kineto), Chrome's format: calls of operators with their times, and
with shapes where the profiler recorded them.

They have no outputs, storages or overloads. Calls are nested by their times on a thread.
"""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from opperf.model import Argument, Element, Number, TensorSpec
from opperf.sources.traces.collectives import SEQUENCE, message_of, of_shapes
from opperf.sources.traces.execution_trace import TRITON, TRITON_REFUSAL, collective_call
from opperf.sources.traces.trace import Call, Kernel, Node, Trace
from opperf.sources.traces.values import (
    Unbuildable,
    dtype_of,
    extents_of,
    integer_or,
    is_integer,
)

NS_PER_US = 1000

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


class Event(NamedTuple):
    """A complete event of a thread of the host."""

    thread: int
    begin: int
    """Nanoseconds of the trace's clock."""
    end: int
    name: str
    call: int
    """Index of its distinct call; -1 of a label."""
    rf_id: int
    seq_id: int


class Launch(NamedTuple):
    """A call of the host that begins work on a device."""

    thread: int
    begin: int


class Work(NamedTuple):
    """A kernel or copy of a device."""

    correlation: int
    """Number of the launch."""
    device: int
    stream: int
    begin: int
    time: int


def read_events(trace: Trace, objects: Iterable[Mapping[str, Any]]) -> None:
    """Adds the nodes of a trace of events. Times of kernels are added to the topmost operator that
    launched them."""
    events: list[Event] = []
    launches: dict[int, Launch] = {}
    works: list[Work] = []
    threads: dict[Hashable, int] = {}
    for raw in objects:
        if raw.get("ph") != "X" or not isinstance(raw.get("name"), str):
            continue
        begin, time = _ns(raw.get("ts")), _ns(raw.get("dur"))
        if begin is None or time is None or time < 0:
            continue
        category = raw.get("cat")
        arguments = raw.get("args")
        args: Mapping[str, Any] = arguments if isinstance(arguments, dict) else {}
        if category in KERNELS:
            correlation, device, stream = (
                integer_or(args.get(key)) for key in ("correlation", "device", "stream")
            )
            works.append(Work(correlation, device, stream, begin, time))
            continue
        place = (str(raw.get("pid")), str(raw.get("tid")))
        thread = threads.setdefault(place, len(threads) + 1)
        if category in LAUNCHES:
            if number := integer_or(args.get("correlation")):
                launches[number] = Launch(thread, begin)
        elif (event := _event(trace, raw["name"], category, args, thread, begin, time)) is not None:
            events.append(event)
    first = _nest(trace, events)
    _add_kernels(trace, first, launches, works)


def _event(
    trace: Trace,
    name: str,
    category: Any,
    args: Mapping[str, Any],
    thread: int,
    begin: int,
    time: int,
) -> Event | None:
    """Returns what is kept of an event of the host: a call, or a label; None for any other."""
    call = -1
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
    return Event(
        thread,
        begin,
        begin + time,
        name,
        call,
        integer_or(args.get("Record function id")),
        sequence,
    )


def _call_of(trace: Trace, name: str, args: Mapping[str, Any]) -> int:
    """Returns the index of the distinct call of an event; -1 of what is no operator."""
    namespace, separator, own = name.partition("::")
    is_triton = args.get("kernel_backend") == TRITON
    is_named = separator and own.isidentifier() and namespace.partition(".")[0] not in NOT_OPERATORS
    if not (is_triton or is_named):
        return -1
    shown = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
    parts = [args.get(key) for key in shown]
    key = (name, msgspec.json.encode(parts))
    known = trace.intern(key)
    if known is not None:
        return known
    if is_triton:
        call = Call(name, "", (), refusal=TRITON_REFUSAL)
    else:
        call = _built(
            name.replace("::", "."), [part if isinstance(part, list) else None for part in parts]
        )
    return trace.add_call(key, call)


def _built(path: str, parts: Sequence[list[Any] | None]) -> Call:
    dims, types, strides, concrete = parts
    if dims is None or types is None:
        return Call(path, "", (), refusal=NO_SHAPES)
    try:
        made = list(_arguments(dims, types, strides or [], concrete))
    except Unbuildable as error:
        return Call(path, "", (), refusal=str(error))
    has_numbers = concrete is not None or not any(kind in NUMBERS for kind in types)
    notes = ("" if has_numbers else NO_NUMBERS, NO_DTYPES if TENSORS in types else "")
    return Call(path, "", tuple(made), notes=tuple(filter(None, notes)))


NUMBERS = ("Scalar", "ScalarList")
TENSORS = "TensorList"
"""Types of arguments, beside the dtypes of tensors."""


def _arguments(
    dims: Sequence[Any],
    types: Sequence[Any],
    strides: Sequence[Any],
    concrete: Sequence[Any] | None,
) -> Iterator[tuple[str, Argument]]:
    """Yields the arguments by position; None for those that are not recorded."""
    for index, kind in enumerate(types):
        shape = dims[index] if index < len(dims) else []
        steps = strides[index] if index < len(strides) else []
        text = str(concrete[index]) if concrete and index < len(concrete) else ""
        if kind == TENSORS:
            yield str(index), tuple(_tensors_of(shape, steps))
        elif kind in (*NUMBERS, "", None):
            # None where the trace does not say it, so that the others keep their positions.
            yield str(index), parse_concrete(text)
        else:
            yield str(index), _tensor(str(kind), shape, steps)


def _tensors_of(shapes: Any, strides: Any) -> Iterator[TensorSpec]:
    """Yields the tensors of a list."""
    if not isinstance(shapes, list):
        raise Unbuildable("a list of tensors without their shapes")
    known: list[Any] = strides if isinstance(strides, list) else []
    for place, shape in enumerate(shapes):
        yield _tensor(LISTED, shape, known[place] if place < len(known) else [])


def _tensor(kind: str, shape: Any, strides: Any) -> TensorSpec:
    made = TensorSpec(extents_of(shape), dtype_of(kind))
    steps = extents_of(strides) if isinstance(strides, list) and strides else ()
    if not steps or steps == made.steps:
        return made
    if len(steps) != len(made.shape):
        raise Unbuildable(f"{len(made.shape)} extents and {len(steps)} strides")
    return TensorSpec(made.shape, made.dtype, strides=steps)


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


def _nest(trace: Trace, events: Sequence[Event]) -> int:
    """Adds the events as nodes, each below the one on its thread in whose time it is; returns the
    beginning of the first one."""
    placed: list[tuple[Event, Event | None]] = []
    above: dict[int, list[Event]] = defaultdict(list)
    for event in sorted(events, key=lambda one: (one.begin, -one.end)):
        around = above[event.thread]
        while around and not _is_within(event, around[-1]):
            around.pop()
        placed.append((event, around[-1] if around else None))
        around.append(event)
    numbers = {id(event): number for number, (event, _) in enumerate(placed, 1)}
    first = placed[0][0].begin if placed else 0
    for event, outer in placed:
        number = numbers[id(event)]
        trace.nodes[number] = Node(
            number,
            0 if outer is None else numbers[id(outer)],
            event.name,
            call=event.call,
            rf_id=event.rf_id,
            seq_id=event.seq_id,
            thread=event.thread,
            start_ns=event.begin - first,
            time_ns=event.end - event.begin,
        )
    return first


def _is_within(event: Event, outer: Event) -> bool:
    """Whether an event is below one of its thread that does not begin later."""
    if event.end <= outer.end:
        return True
    return event.begin < outer.end and event.end <= outer.end + TRUNCATED_NS


def _add_kernels(
    trace: Trace, first: int, launches: Mapping[int, Launch], works: Sequence[Work]
) -> None:
    """Adds the kernels, and their times to the topmost operators in which they were launched."""
    by_thread: dict[int, list[Node]] = defaultdict(list)
    for top in trace.topmost():
        by_thread[top.thread].append(top)
    starts = {thread: [node.start_ns for node in nodes] for thread, nodes in by_thread.items()}
    lost = 0
    for work in works:
        launch = launches.get(work.correlation)
        node: Node | None = None
        if launch is not None and launch.thread in by_thread:
            begin = launch.begin - first
            index = bisect.bisect_right(starts[launch.thread], begin) - 1
            latest = by_thread[launch.thread][max(index, 0)]
            node = latest if latest.start_ns <= begin <= latest.start_ns + latest.time_ns else None
        if node is None:
            lost += 1
        else:
            node.kernel_ns = max(node.kernel_ns, 0) + work.time
        number = 0 if node is None else node.id
        trace.kernels.append(
            Kernel(work.device, work.stream, work.begin - first, work.time, number)
        )
    if lost:
        trace.remarks.append(
            f"{trace.name}: {lost:,} of {len(works):,} kernels launched by no operator"
        )


def _ns(value: Any) -> int | None:
    """Returns a time in microseconds as nanoseconds; None for no number."""
    try:
        return round(float(value) * NS_PER_US)
    except (TypeError, ValueError, OverflowError):
        return None
