"""Replays recorded sequences of calls.

A sequence becomes Python code, a line for each call, so that an iteration has hardly more overhead
than the calls themselves. At a first iteration each line is tried alone: a call that fails is left
out, and what it would have made comes from outside.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from opperf.errors import OpperfError, UnsupportedError, one_line
from opperf.frameworks.base import CPU
from opperf.frameworks.replays import NOT_KEPT, CallSequence, Collective, Group, Step
from opperf.frameworks.torch import functions
from opperf.frameworks.torch.devices import dtype_of, free_memory, synchronize
from opperf.frameworks.torch.replay_surroundings import Collectives, OutsideTensors, Streams
from opperf.model import (
    Argument,
    Case,
    Device,
    DType,
    Generator,
    MemoryFormat,
    Number,
    TensorSpec,
    TraceTarget,
)

if TYPE_CHECKING:
    from opperf.frameworks import Framework

PART = 500
"""Calls of one function of the code: Python compiles longer functions in more than linear time."""

SPIN_NS = 1_000_000
"""End of a pause in which the clock is watched: a thread may wake up so much too late."""

GIB = 2**30
NS_PER_S, NS_PER_MS = 10**9, 10**6

NO_TIME = "a collective operation, which takes several processes, and of which no time is recorded"


class Place(int):
    """An argument that is a tensor of the sequence: its position among those of the call."""


def pause(ns: int) -> None:
    """Waits for a time, as long to a microsecond."""
    end = time.perf_counter_ns() + ns
    if ns > SPIN_NS:
        time.sleep((ns - SPIN_NS) / NS_PER_S)
    while time.perf_counter_ns() < end:
        pass


class Replay:
    """A sequence that is ready to be replayed."""

    def __init__(
        self, framework: Framework, case: Case, sequence: CallSequence, group: Group | None
    ) -> None:
        """Makes the tensors from outside, and one iteration. Raises `UnsupportedError` if the
        tensors do not fit in memory."""
        assert isinstance(case.target, TraceTarget)
        self.sequence = sequence
        self.omitted: dict[int, str] = dict(sequence.skipped)
        self.outside_bytes = sum(buffer.size for buffer in sequence.buffers)
        self._framework, self._case, self._target = framework, case, case.target
        self._device = case.settings.device
        self._check_room()
        self._outside = OutsideTensors(framework, case, sequence)
        self._values: list[Any] = [None] * len(sequence.slots)
        for slot, tensor in self._outside.made():
            self._values[slot] = tensor
        self._fixed = {index for index, slot in enumerate(sequence.slots) if slot.is_outside}
        self._seen: set[int] = set()
        """Slots that are views, and made by a line already."""
        self._streams = Streams(self._device, sequence)
        self._collectives = None if group is None else Collectives(group)
        self._functions: list[Callable[..., Any]] = []
        self._constants: list[Any] = []
        self._templates: dict[int, str] = {}
        self._names: dict[str, Any] = {
            "v": self._values,
            "f": self._functions,
            "c": self._constants,
            "view": torch.as_strided,
            "pause": pause,
            "now": time.perf_counter_ns,
            "s": self._streams,
        }
        with torch.no_grad():
            lines = [self._try(index, step) for index, step in enumerate(sequence.steps)]
            self._streams.finish()
        self._lines = lines
        self._iteration = self._compile(self._with_gaps(lines))
        self._timed: Callable[[], Sequence[int]] | None = None

    def _check_room(self) -> None:
        needed = self.outside_bytes + self.sequence.peak_bytes
        free = free_memory(self._device)
        if needed > free:
            raise UnsupportedError(
                f"the replay needs about {needed / GIB:.1f} GiB and {self._device} has "
                f"{free / GIB:.1f} GiB free; choose a step or a part with --steps or --subgraph"
            )

    def __call__(self) -> None:
        with torch.no_grad():
            for part in self._iteration:
                part()
            self._streams.finish()

    def step_times(self) -> Sequence[int]:
        """Returns the nanoseconds of each step in an iteration: on the CPU by the clock, on a
        device that has events between two of them, else by the clock with a wait for it."""
        if self._timed is None:
            self._timed = self._make_timed()
        with torch.no_grad():
            return self._timed()

    def _try(self, index: int, step: Step) -> list[str]:
        """Makes a call for the first time. Returns its lines: of one that is omitted, those that
        later calls need."""
        if step.collective is not None:
            return [] if index in self.omitted else self._collective(index, step, step.collective)
        lines = self._streams.lines(step)
        self._run(lines)
        lines += [line for slot in dict.fromkeys(step.inputs) for line in self._view(slot)]
        if index not in self.omitted:
            try:
                lines += self._called(step)
            except Exception as error:
                # Of any kind: a damaged or foreign trace asks for calls that no operator expects.
                self.omitted[index] = self._reason(error)
        if index in self.omitted:
            for slot in step.outputs:
                if slot != NOT_KEPT:
                    self._fix(slot)
        freed = [f"v[{slot}] = None" for slot in step.freed if slot not in self._fixed]
        self._run(freed)
        return lines + freed

    def _collective(self, index: int, step: Step, collective: Collective) -> list[str]:
        """Returns the line of a collective operation: with the other processes, else a wait of the
        recorded length; none without one."""
        made = None
        try:
            if self._collectives is not None:
                made = self._collectives.make(collective)
            if made is not None:
                made()
        except Exception as error:
            # What gloo lacks, it lacks in all processes.
            self.omitted[index] = self._reason(error)
            return []
        if made is not None:
            self._functions.append(made)
            return [f"f[{len(self._functions) - 1}]()"]
        if step.recorded_ns < 0:
            self.omitted[index] = NO_TIME
            return []
        return [f"pause({step.recorded_ns})"]

    def _reason(self, error: Exception) -> str:
        known = str(error) if isinstance(error, OpperfError) else self._framework.refusal(error)
        return one_line(known or f"{type(error).__name__}: {error}")

    def _called(self, step: Step) -> list[str]:
        call = self.sequence.calls[step.call]
        if call.refusal:
            raise UnsupportedError(call.refusal)
        text = self._template(step.call).format(*(f"v[{slot}]" for slot in step.inputs))
        result = eval(text, self._names)
        synchronize(self._device)
        kept = self._kept(step, result)
        if not kept:
            return [text]
        if () in kept:
            return [f"v[{kept[()]}] = {text}"]
        paths = {slot: "".join(f"[{place}]" for place in path) for path, slot in kept.items()}
        results = [f"v[{slot}] = r{path}" for slot, path in paths.items()]
        return [f"r = {text}", *results, "r = None"]

    def _run(self, lines: Sequence[str]) -> None:
        exec("\n".join(lines), self._names)

    def _view(self, slot: int) -> list[str]:
        """Returns the line that makes a view of what a call has made, before its first use."""
        base = self.sequence.slots[slot].base
        if base < 0 or slot in self._seen or slot in self._fixed:
            return []
        self._seen.add(slot)
        spec = self.sequence.slots[slot].spec
        line = f"v[{slot}] = view(v[{base}], {spec.shape}, {spec.steps}, {spec.offset})"
        try:
            self._run([line])
        except (RuntimeError, TypeError):
            # Another storage by now, of which the trace has the number: the address is used again.
            self._fix(slot)
            return []
        return [line]

    def _fix(self, slot: int) -> None:
        """Has a tensor come from outside."""
        self._fixed.add(slot)
        self._values[slot] = tensor = self._outside.alone(slot)
        self.outside_bytes += tensor.untyped_storage().nbytes()

    def _kept(self, step: Step, result: Any) -> dict[tuple[int, ...], int]:
        """Puts the results that later calls take in their slots, and returns these by their paths
        in the result. One that is not as in the trace comes from outside."""
        leaves = list(_leaves(result))
        found: dict[tuple[int, ...], int] = {}
        for position, slot in enumerate(step.outputs):
            if slot == NOT_KEPT:
                continue
            spec = self.sequence.slots[slot].spec
            has_all = len(leaves) == len(step.outputs)
            own = leaves[position : position + 1] if has_all else leaves
            alike = (
                path
                for path, tensor in own
                if tuple(tensor.shape) == spec.shape and tensor.dtype == dtype_of(spec.dtype)
            )
            path = next((path for path in alike if path not in found), None)
            if path is None:
                self._fix(slot)
            else:
                found[path] = slot
                self._values[slot] = dict(leaves)[path]
        return found

    def _template(self, index: int) -> str:
        if index not in self._templates:
            call = self.sequence.calls[index]
            device = CPU if call.on_host else self._device
            arguments = call.case.arguments.items()
            values = {name: self._value(value, device) for name, value in arguments}
            bound = functions.bind(functions.function_of(call.case.target), values, device)
            self._functions.append(bound.func)
            texts = [
                *map(self._text, bound.args),
                *(f"{name}={self._text(value)}" for name, value in bound.keywords.items()),
            ]
            self._templates[index] = f"f[{len(self._functions) - 1}]({', '.join(texts)})"
        return self._templates[index]

    def _value(self, argument: Argument, device: str) -> Any:
        if isinstance(argument, TensorSpec):
            return Place(argument.storage)
        if isinstance(argument, tuple):
            return [self._value(element, device) for element in argument]
        if isinstance(argument, Number):
            return argument.value
        if isinstance(argument, (DType, Device, MemoryFormat, Generator)):
            return self._framework.arrays.constant(argument, device)
        return argument

    def _text(self, value: Any) -> str:
        if isinstance(value, Place):
            return f"{{{int(value)}}}"
        if isinstance(value, list) and any(isinstance(element, Place) for element in value):
            return f"[{', '.join(map(self._text, value))}]"
        self._constants.append(value)
        return f"c[{len(self._constants) - 1}]"

    def _with_gaps(self, lines: Sequence[list[str]]) -> list[list[str]]:
        if self._target.gaps != "recorded":
            return list(lines)
        return [
            [*([f"pause({step.gap_ns})"] if step.gap_ns else []), *own]
            for step, own in zip(self.sequence.steps, lines, strict=True)
        ]

    def _compile(self, lines: Sequence[list[str]]) -> list[Callable[[], object]]:
        made: list[Callable[[], object]] = []
        for first in range(0, len(lines), PART):
            body = [line for own in lines[first : first + PART] for line in own]
            made.append(self._function(body))
        return made

    def _function(self, body: Sequence[str]) -> Callable[[], Any]:
        text = "\n".join(["def part(v=v, f=f, c=c):", *(f" {line}" for line in body), " return"])
        exec(compile(text, "<replay>", "exec"), self._names)
        made: Callable[[], Any] = self._names.pop("part")
        return made

    def _make_timed(self) -> Callable[[], Sequence[int]]:
        count = len(self._lines)
        if self._framework.queues.has_events(self._device):
            events = [self._framework.queues.event(self._device) for _ in range(2 * count)]
            begin, end = "e[{0}].record()", "e[{1}].record()"
        else:
            events = []
            wait = "" if self._device == CPU else "wait(); "
            begin, end = wait + "t = now()", wait + "d[{2}] = now() - t"
        times = [0] * count
        self._names.update(e=events, d=times, wait=lambda: synchronize(self._device))
        parts = self._compile(
            [
                [begin.format(2 * i, 2 * i + 1, i), *own, end.format(2 * i, 2 * i + 1, i)]
                if own
                else []
                for i, own in enumerate(self._lines)
            ]
        )

        def timed() -> Sequence[int]:
            for part in parts:
                part()
            self._streams.finish()
            if events:
                synchronize(self._device)
                for i, own in enumerate(self._lines):
                    times[i] = round(events[2 * i + 1].elapsed_ns(events[2 * i])) if own else 0
            return tuple(times)

        return timed


def _leaves(result: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    if isinstance(result, torch.Tensor):
        yield path, result
    elif isinstance(result, (list, tuple)):
        for index, one in enumerate(result):
            yield from _leaves(one, (*path, index))
