"""The data flow of a trace's calls: which tensors come from outside, which calls make the others,
and when each is freed."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from opperf.dtypes import DTYPES, element_bytes, is_integer
from opperf.frameworks.replays import (
    NOT_KEPT,
    Buffer,
    CallSequence,
    Collective,
    SequenceCall,
    Slot,
    Step,
)
from opperf.model import Fill, TensorSpec, iter_tensors
from opperf.rules.dependencies import ARRANGED
from opperf.rules.values import below, literal
from opperf.traces.execution_trace import HOST, main_device
from opperf.traces.trace import NO_CALL, Call, Node, Trace
from opperf.traces.values import CPP, Ref

INTEGERS = "integers"
"""Distribution of integers below a limit."""

UNFILLED = frozenset(
    f"aten.{name}"
    for name in (
        *("empty", "empty_like", "empty_permuted", "empty_strided"),
        *("new_empty", "new_empty_strided"),
    )
)
"""Operators whose result has whatever was in memory."""

PRESERVING = frozenset(
    f"aten.{name}"
    for name in (
        *("_to_copy", "_unsafe_view", "alias", "broadcast_to", "cat", "chunk", "clone"),
        *("contiguous", "copy_", "cpu", "cuda", "detach", "detach_", "expand", "expand_as"),
        *("flatten", "lift", "lift_fresh", "long", "movedim", "narrow", "permute", "pin_memory"),
        *("repeat", "reshape", "select", "slice", "split", "split_with_sizes", "squeeze"),
        *("stack", "t", "to", "transpose", "unbind", "unflatten", "unsqueeze", "view"),
    )
)
"""Operators whose results have the numbers of their arguments, and no others."""


class _Key(NamedTuple):
    """A tensor of the program. Later tensors have addresses, and so numbers, again."""

    ref: Ref
    shape: tuple[int, ...]
    dtype: str


class _Storage(NamedTuple):
    """Identity of a storage. One number may be that of a storage of indices and, later, of another
    one of floating-point numbers, which must not share contents."""

    number: int
    device: str
    kind: str


class DataFlow:
    """Follows the tensors through calls that are added in their order."""

    def __init__(self, trace: Trace, nodes: Sequence[Node]) -> None:
        self._trace = trace
        device = main_device(ref for node in nodes for ref in node.inputs)
        self._has_host = not device.startswith((HOST, "meta"))
        self._slots: list[Slot] = []
        self._buffers: dict[_Storage, int] = {}
        self._sizes: list[Buffer] = []
        self._known: dict[_Key, int] = {}
        """Slots by tensor, the latest."""
        self._made: dict[_Storage, int] = {}
        """Slots of tensors that calls have made, by storage, the latest."""
        self._owners: dict[int, int] = {}
        """The slot that was the first in a storage that a call has made, by each slot in it."""
        self._bounds: dict[int, Fill] = {}
        """Contents of slots of integers, within the bounds of all calls that take them."""
        self._alone: dict[tuple[int, int], int] = {}
        """Slots of tensors without numbers, by distinct call and position."""
        self._steps: list[Step] = []
        self._end_ns = -1

    def is_on_host(self, device: str) -> bool:
        """Whether a device of the trace is the CPU beside another device."""
        return self._has_host and device.startswith(HOST)

    def add(self, node: Node, specs: Sequence[TensorSpec], is_made: bool, stream: int) -> None:
        """Adds a call. `specs` are its tensors, and `is_made` says whether it is replayed: what
        another one made comes from outside."""
        call = self._trace.calls[node.call]
        gap_ns = self._gap(node)
        if call.collective:
            # Its results, as those of any process, come from outside.
            made = collective_of(call)
            self._steps.append(Step(NO_CALL, (), (), (), gap_ns, node.recorded_ns, stream, made))
            return
        if len(node.inputs) == len(specs):
            inputs = tuple(map(self._taken, node.inputs, specs))
        else:
            inputs = tuple(
                self._independent(node.call, index, spec) for index, spec in enumerate(specs)
            )
        for slot, spec in zip(inputs, specs, strict=True):
            self._bound(slot, spec.fill)
        outputs = self._results(node) if is_made else ()
        self._steps.append(
            Step(
                node.call,
                inputs,
                outputs,
                gap_ns=gap_ns,
                recorded_ns=node.recorded_ns,
                stream=stream,
            )
        )

    def _bound(self, slot: int, fill: Fill) -> None:
        """Has a slot of integers contents within further bounds; those of no fill are none."""
        spec = self._slots[slot].spec
        if fill != Fill() and is_integer(spec.dtype):
            own = for_shape(fill, spec)
            self._bounds[slot] = within(self._bounds.get(slot, own), own)

    def _bound_sources(self) -> None:
        """Has what calls only copy or view the bounds of the result."""
        for step in reversed(self._steps):
            if step.call == NO_CALL or self._trace.calls[step.call].path not in PRESERVING:
                continue
            # In place, the result is the first argument.
            results = [slot for slot in step.outputs if slot != NOT_KEPT] or step.inputs[:1]
            fills = [self._bounds[slot] for slot in results if slot in self._bounds]
            for slot in step.inputs if fills else ():
                self._bound(slot, functools.reduce(within, fills))

    def _gap(self, node: Node) -> int:
        """Between the end of all earlier calls and the beginning of this one."""
        if node.start_ns < 0:
            return 0
        gap_ns = 0 if self._end_ns < 0 else max(0, node.start_ns - self._end_ns)
        self._end_ns = max(self._end_ns, node.start_ns + max(0, node.time_ns))
        return gap_ns

    def _taken(self, ref: Ref, spec: TensorSpec) -> int:
        key = _Key(ref, spec.shape, spec.dtype)
        known = self._known.get(key)
        if known is None:
            storage = _storage_of(ref, spec)
            base = self._made.get(storage)
            own = msgspec.structs.replace(spec, offset=ref.offset)
            if base is not None and self._slots[base].spec.dtype == spec.dtype:
                # What a composite operator keeps of its own for the backward pass.
                known = self._new(Slot(own, self.is_on_host(ref.device), base=base))
            else:
                known = self._outside(storage, ref, own)
            self._known[key] = known
        return known

    def _outside(self, storage: _Storage, ref: Ref, spec: TensorSpec) -> int:
        buffer = self._buffers.setdefault(storage, len(self._sizes))
        on_host = self.is_on_host(ref.device)
        size = spec.reach * element_bytes(spec.dtype)
        if buffer == len(self._sizes):
            self._sizes.append(Buffer(size, on_host))
        else:
            self._sizes[buffer] = Buffer(max(size, self._sizes[buffer].size), on_host)
        return self._new(Slot(spec, on_host, buffer))

    def _independent(self, call: int, index: int, spec: TensorSpec) -> int:
        """Returns the slot of an argument without a number: all calls that are alike share it."""
        known = self._alone.get((call, index))
        if known is None:
            own = msgspec.structs.replace(spec, offset=0)
            self._sizes.append(Buffer(own.reach * element_bytes(own.dtype), on_host=False))
            known = self._new(Slot(own, False, len(self._sizes) - 1))
            self._alone[call, index] = known
        return known

    def _results(self, node: Node) -> tuple[int, ...]:
        if node.output_specs == NO_CALL:
            return ()
        made = self._trace.outputs[node.output_specs]
        specs = [spec for argument in made for spec in iter_tensors(argument)]
        if len(specs) != len(node.outputs):
            # A result that the trace does not hold: what takes it has it from outside.
            return ()
        found = []
        is_unfilled = self._trace.calls[node.call].path in UNFILLED
        for ref, spec in zip(node.outputs, specs, strict=True):
            key = _Key(ref, spec.shape, spec.dtype)
            if is_unfilled and is_integer(spec.dtype):
                # What fills it is no call: `torch.tensor([1, 3])`.
                self._known.pop(key, None)
                self._made.pop(_storage_of(ref, spec), None)
                found.append(NOT_KEPT)
                continue
            slot = self._known.get(key)
            is_argument = slot is not None and ref in node.inputs
            if slot is None or not is_argument:
                own = msgspec.structs.replace(spec, offset=ref.offset)
                slot = self._new(Slot(own, self.is_on_host(ref.device)))
                self._known[key] = slot
                storage, is_whole = _storage_of(ref, spec), self._is_whole(node, ref)
                # A view of what comes from outside has its storage there.
                if storage not in self._buffers or is_whole:
                    first = slot if is_whole else self._made.get(storage, slot)
                    self._owners[slot] = self._owners.get(first, slot)
                    self._made[storage] = slot
                found.append(slot)
            else:
                found.append(NOT_KEPT)
        return tuple(found)

    @staticmethod
    def _is_whole(node: Node, ref: Ref) -> bool:
        """Whether a result has a storage that none of the call's arguments has."""
        return all(ref.storage != other.storage for other in node.inputs)

    def _new(self, slot: Slot) -> int:
        self._slots.append(slot)
        return len(self._slots) - 1

    def sequence(self, calls: Sequence[SequenceCall], skipped: Mapping[int, str]) -> CallSequence:
        """Returns the calls with their data flow, each tensor freed after its last use."""
        self._bound_sources()
        slots = [
            slot._replace(spec=msgspec.structs.replace(slot.spec, fill=self._bounds[index]))
            if index in self._bounds
            else slot
            for index, slot in enumerate(self._slots)
        ]
        last: dict[int, int] = {}
        for index, step in enumerate(self._steps):
            for slot in step.inputs:
                last[slot] = index
                base = self._slots[slot].base
                if base >= 0 and last.get(base, -1) < index:
                    last[base] = index
        freed: dict[int, list[int]] = {}
        for slot, index in last.items():
            if not self._slots[slot].is_outside:
                freed.setdefault(index, []).append(slot)
        steps = [
            step._replace(
                outputs=tuple(slot if slot in last else NOT_KEPT for slot in step.outputs),
                freed=tuple(freed.get(index, ())),
            )
            for index, step in enumerate(self._steps)
        ]
        return CallSequence(
            calls=calls,
            slots=slots,
            buffers=self._sizes,
            steps=steps,
            peak_bytes=self._peak(steps),
            skipped=skipped,
        )

    def _peak(self, steps: Sequence[Step]) -> int:
        """Bytes of the storages that calls have made and of which a tensor is not freed."""
        now = most = 0
        alive: Counter[int] = Counter()
        for step in steps:
            for slot in step.outputs:
                if slot in self._owners:
                    owner = self._owners[slot]
                    now += 0 if alive[owner] else _bytes(self._slots[owner].spec)
                    alive[owner] += 1
            most = max(most, now)
            for slot in step.freed:
                if slot in self._owners:
                    owner = self._owners[slot]
                    alive[owner] -= 1
                    now -= 0 if alive[owner] else _bytes(self._slots[owner].spec)
        return most


def for_shape(fill: Fill, spec: TensorSpec) -> Fill:
    """Returns the fill of a copy or view for a tensor of another shape: listed numbers in each of
    its rows, if these are as long, else others of their range."""
    if fill.distribution != "literal" or len(fill.data) == spec.size:
        return fill
    if spec.shape and spec.shape[-1] == len(fill.data):
        return literal(fill.data * (spec.size // len(fill.data)))
    return below(max(fill.data) + 1, start=min(fill.data))


def within(first: Fill, second: Fill) -> Fill:
    """Returns integers within the bounds of two fills: those in whose place others are not valid;
    what both have, where both are drawn from a range; else those of the lower limit."""
    arranged = [fill for fill in (first, second) if fill.distribution in ARRANGED]
    if len(arranged) == 1:
        return arranged[0]
    least = min(first, second, key=lambda fill: fill.high)
    low = max(first.low, second.low)
    if first.distribution == second.distribution == INTEGERS and low < least.high:
        return Fill(INTEGERS, low, least.high)
    return least


def _bytes(spec: TensorSpec) -> int:
    return math.prod(spec.shape) * element_bytes(spec.dtype)


def collective_of(call: Call) -> Collective:
    """Returns the collective operation that a call is."""
    message = call.message
    if message is None:
        return Collective(call.collective)
    name = message.dtype.removeprefix("c10::").lower()
    dtype = CPP.get(name, name if name in DTYPES else "")
    return Collective(call.collective, dtype, message.sent, message.ranks)


def _storage_of(ref: Ref, spec: TensorSpec) -> _Storage:
    kind = DTYPES[spec.dtype].kind
    return _Storage(ref.storage, ref.device, "float" if kind == "complex" else kind)


def specs_of(call: Call) -> list[TensorSpec]:
    """Returns the tensors of a call, in the order of its arguments."""
    return [spec for _, argument in call.arguments for spec in iter_tensors(argument)]
