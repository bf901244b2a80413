"""The flow of tensors through the calls of a program's step, and the chains in it: calls that one
kernel could compute, as nothing else reads what is between them.

A value is what a memory holds between two calls that write to it. It is between the calls of a
chain if one call alone reads it, and its memory is freed or overwritten before the step ends: what
the backward pass needs is read by that, and what is returned or stored is still alive. The calls of
a chain have to be possible where the last one is: no other call reads their further results before
that, or overwrites what they read.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from opperf.model.chains import INPUT, ChainKind

POINTWISE: ChainKind = "pointwise"
PRODUCER: ChainKind = "producer"
VIEW: ChainKind = "view"

Kind = Literal["pointwise", "producer", "view", ""]
"""Of a call; empty of one that is in no chain."""

MOST_KEPT = 50_000
"""Calls of a step whose flow is kept, of 1 to 2 kB each; a step of a large model has 10,000."""

CUT = (
    "chains of calls are of the first {:,} calls alone, as no step had ended by then; end shorter "
    "steps by opperf.step()"
)


class Memory(NamedTuple):
    """A tensor, by the memory that it lies in."""

    key: Hashable
    """Of the memory: another one has another key, even at the same address after this is freed."""
    form: Hashable
    """Tells tensors in one memory apart: dtype, shape, strides, offset."""
    bytes: int
    """Of its elements."""
    is_whole: bool = True
    """Whether it covers its memory."""


class FlowCall(NamedTuple):
    """A call of a step."""

    call: Any
    """A `RecordedCall`; None of a call that no case can have."""
    site: Any
    """The `Site` where it is made."""
    kind: Kind
    taken: Mapping[str, Memory]
    """Its tensors, by their arguments."""
    written: Collection[str]
    """Arguments of those that it writes to."""
    ignored: Collection[str]
    """Those of them that it does not read."""
    returned: Sequence[Memory | None]
    """Its results in their order; None for one that is no tensor."""


class FoundCall(NamedTuple):
    """A call in a chain, as `model.chains.ChainCall` has it."""

    call: Any
    kind: ChainKind
    feeds: Mapping[str, tuple[int, int]]
    between_bytes: int


class FoundChain(NamedTuple):
    """A chain, of which equal ones are one."""

    calls: tuple[FoundCall, ...]
    sites: tuple[tuple[Any, Any], ...]
    """Of the first call and of the last, each time that it was made."""


class _Value:
    """The content of a memory between two calls that write to it."""

    __slots__ = ("bytes", "is_kept", "key", "maker", "overwritten", "readers", "sources")

    def __init__(self, key: Hashable, maker: int, bytes: int = 0, is_kept: bool = False) -> None:
        self.key, self.maker, self.bytes = key, maker, bytes
        self.is_kept = is_kept
        """Whether something other than calls may read it."""
        self.readers: dict[int, int] = {}
        """Bytes that each call reads of it; views are none."""
        self.overwritten: int | None = None
        self.sources: dict[Hashable, tuple[int, int]] = {}
        """By the form of a tensor, the call that returned it and which of its results it is."""


Source = tuple[_Value, Hashable, "tuple[int, int] | None"]
"""Of a tensor that a call takes: its value, its form, and the call that returned it, with which of
its results it is; None if no call did."""


class Flow:
    """The flow of a step. No tensor is kept in it."""

    def __init__(self) -> None:
        self.calls: list[FlowCall] = []
        self.is_cut = False

    def add(self, call: FlowCall) -> None:
        """Adds the next call."""
        if len(self.calls) < MOST_KEPT:
            self.calls.append(call)
        else:
            self.is_cut = True

    def chains(self, freed: Collection[Hashable]) -> list[FoundChain]:
        """Returns the chains, in the order of their last calls. `freed` are the keys of the
        memories that were freed by the time of the last call that is kept."""
        resolved = _Resolved(self.calls, freed)
        found: dict[Hashable, FoundChain] = {}
        for members in resolved.groups():
            calls = tuple(resolved.in_chain(members))
            sites = (self.calls[members[0]].site, self.calls[members[-1]].site)
            key = tuple(
                (id(own.call), own.between_bytes, tuple(sorted(own.feeds.items()))) for own in calls
            )
            earlier = found.get(key)
            found[key] = FoundChain(calls, (*(earlier.sites if earlier else ()), sites))
        return list(found.values())


class _Resolved:
    """Calls with the values that they read and make."""

    def __init__(self, calls: Sequence[FlowCall], freed: Collection[Hashable]) -> None:
        self.calls, self._freed = calls, freed
        self.sources: list[dict[str, Source]] = []
        """Of each call's tensors."""
        self.made: list[list[_Value]] = []
        """By each call."""
        self.views: set[int] = set()
        self._present: dict[Hashable, _Value] = {}
        for place, call in enumerate(calls):
            self._add(place, call)

    def _value(self, memory: Memory) -> _Value:
        found = self._present.get(memory.key)
        if found is None:
            found = self._present[memory.key] = _Value(memory.key, INPUT)
        return found

    def _add(self, place: int, call: FlowCall) -> None:
        known = {memory.key for memory in call.taken.values()}
        returned = {memory.key for memory in call.returned if memory is not None}
        is_view = not call.written and bool(returned) and returned <= known
        sources: dict[str, Source] = {}
        for name, memory in call.taken.items():
            value = self._value(memory)
            source = value.sources.get(memory.form)
            sources[name] = (value, memory.form, source)
            # A tensor that no call returned was made of it unseen.
            value.is_kept |= source is None
            if not is_view and name not in call.ignored:
                value.readers[place] = max(value.readers.get(place, 0), memory.bytes)
        self.sources.append(sources)
        made: list[_Value] = []
        for name in call.written:
            memory = call.taken[name]
            old = self._value(memory)
            old.overwritten = place
            # What is written in part is of several calls.
            old.is_kept |= not memory.is_whole
            made.append(_Value(memory.key, place, memory.bytes, not memory.is_whole))
            self._present[memory.key] = made[-1]
        for output, result in enumerate(call.returned):
            if result is None:
                continue
            if result.key not in known and result.key not in self._present:
                made.append(_Value(result.key, place, result.bytes))
                self._present[result.key] = made[-1]
            # One that a view leaves as it is stays the tensor that it was.
            self._value(result).sources.setdefault(result.form, (place, output))
        self.made.append(made)
        if is_view:
            self.views.add(place)

    def groups(self) -> Iterator[list[int]]:
        """Yields the numbers of the calls of each chain in their order, without views."""
        chain_of: dict[int, list[int]] = {}
        for last, call in enumerate(self.calls):
            if call.kind != POINTWISE or last in self.views:
                continue
            members = [last]
            for value in sorted(self._read_alone(last), key=lambda value: -value.bytes):
                before = chain_of.get(value.maker, [value.maker])
                joined = sorted({*members, *before})
                if before[-1] == value.maker and self._is_possible(joined, last):
                    members = joined
            chain_of |= dict.fromkeys(members, members)
        yield from (
            members
            for place, members in chain_of.items()
            if len(members) > 1 and members[-1] == place
        )

    def _read_alone(self, reader: int) -> list[_Value]:
        """Returns the values that a call reads and nothing else."""
        found = {id(value): value for value, _, _ in self.sources[reader].values()}
        return [
            value
            for value in found.values()
            if value.maker != INPUT
            and self.calls[value.maker].kind in (POINTWISE, PRODUCER)
            and self._is_between(value)
        ]

    def _is_between(self, value: _Value) -> bool:
        is_gone = value.overwritten is not None or value.key in self._freed
        return is_gone and not value.is_kept and len(value.readers) == 1

    def _is_possible(self, members: list[int], last: int) -> bool:
        """Whether the calls can be made where the last one is, with one producer at most."""
        if sum(self.calls[place].kind == PRODUCER for place in members) > 1:
            return False
        own = set(members)
        for place in members:
            for value, _, _ in self.sources[place].values():
                by = value.overwritten
                if by is not None and place < by < last and by not in own:
                    return False
            if any(
                reader < last and reader not in own
                for v in self.made[place]
                for reader in v.readers
            ):
                return False
        return True

    def in_chain(self, members: Sequence[int]) -> Iterator[FoundCall]:
        """Yields the calls of a chain, with the views of what is between them."""
        own = set(members)
        for place in members:
            own.update(self._views_to(place, own))
        order = sorted(own)
        position = {place: number for number, place in enumerate(order)}
        inputs: dict[Hashable, int] = {}
        for place in order:
            call = self.calls[place]
            assert call.call is not None
            feeds = {}
            for name, (value, form, source) in self.sources[place].items():
                if source is not None and source[0] in own:
                    feeds[name] = (position[source[0]], source[1])
                else:
                    number = inputs.setdefault((id(value), form), len(inputs))
                    feeds[name] = (INPUT, number)
            kind: ChainKind = VIEW if place in self.views else call.kind or POINTWISE
            yield FoundCall(call.call, kind, feeds, self._bytes_between(place, members))

    def _views_to(self, place: int, members: Collection[int]) -> list[int]:
        """Returns the views through which a call takes what calls of its chain have made."""
        found: list[int] = []
        for value, _, source in self.sources[place].values():
            if value.maker in members and source is not None and source[0] in self.views:
                found += [source[0], *self._views_to(source[0], members)]
        return found

    def _bytes_between(self, place: int, members: Sequence[int]) -> int:
        if place in self.views:
            return 0
        read = {
            id(value): min(value.readers[place], value.bytes)
            for value, _, _ in self.sources[place].values()
            if value.maker in members and place in value.readers and self._is_between(value)
        }
        written = sum(
            value.bytes
            for value in self.made[place]
            if self._is_between(value) and members.count(next(iter(value.readers)))
        )
        return written + sum(read.values())
