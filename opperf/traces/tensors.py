"""The tensors of an execution trace: which call made each, which use it, and the storages that they
are in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from opperf.model import Argument, TensorSpec, iter_tensors
from opperf.traces.trace import NO_CALL, Node, Trace
from opperf.traces.values import Ref

Storage = tuple[int, str]
"""Number of a storage, and its device."""


class Total(NamedTuple):
    """Tensors of the topmost calls and their storages."""

    tensors: int
    storages: int
    bytes: int
    """Of the storages, as far as tensors reach into them."""
    outside: int
    """Storages that a call reads before any makes them."""
    outside_bytes: int


def total_of(trace: Trace) -> Total | None:
    """Returns the tensors of the topmost calls; None for a trace that does not identify tensors."""
    tensors: set[int] = set()
    reach: dict[Storage, int] = {}
    outside: set[Storage] = set()
    for node in trace.topmost():
        for ref in node.inputs:
            if storage_of(ref) not in reach:
                outside.add(storage_of(ref))
            _extend(reach, ref)
        for ref in node.outputs:
            _extend(reach, ref)
        tensors.update(ref.tensor for ref in (*node.inputs, *node.outputs))
    if not tensors:
        return None
    return Total(
        len(tensors),
        len(reach),
        sum(reach.values()),
        len(outside),
        sum(reach[storage] for storage in outside),
    )


def _extend(reach: dict[Storage, int], ref: Ref) -> None:
    storage = storage_of(ref)
    end = (ref.offset + ref.size) * ref.itemsize
    reach[storage] = max(reach.get(storage, 0), end)


def storage_of(ref: Ref) -> Storage:
    """Returns the storage that a tensor is in."""
    return ref.storage, ref.device


class Use(NamedTuple):
    """A tensor as an input or output of a call."""

    node: int
    ref: Ref
    is_output: bool
    argument: str
    """Name or position of the argument; empty if the trace does not say it."""
    spec: TensorSpec | None
    """Its shape and dtype; None if the call could not be built."""


def uses_of(trace: Trace, node: Node) -> Iterator[Use]:
    """Yields the tensors of a call, its inputs first."""
    call = trace.calls[node.call] if node.call != NO_CALL else None
    named = () if call is None else call.arguments
    inputs = [(name, spec) for name, value in named for spec in iter_tensors(value)]
    yield from _uses(node, node.inputs, inputs, is_output=False)
    values: Sequence[Argument] = (
        trace.outputs[node.output_specs] if node.output_specs != NO_CALL else ()
    )
    outputs = [(str(i), spec) for i, value in enumerate(values) for spec in iter_tensors(value)]
    yield from _uses(node, node.outputs, outputs, is_output=True)


def _uses(
    node: Node, refs: Sequence[Ref], found: Sequence[tuple[str, TensorSpec]], is_output: bool
) -> Iterator[Use]:
    # Without the arguments of a call nobody knows which tensor is which.
    known: Iterable[tuple[str, TensorSpec | None]] = (
        found if len(found) == len(refs) else [("", None)] * len(refs)
    )
    for ref, (name, spec) in zip(refs, known, strict=True):
        yield Use(node.id, ref, is_output, name, spec)


class History(NamedTuple):
    """The uses of a tensor."""

    uses: tuple[Use, ...]
    """By the calls' numbers, those below other calls too."""
    sharing: tuple[int, ...]
    """Numbers of the other tensors in its storage."""

    @property
    def maker(self) -> Use | None:
        """The first use as an output; None for a tensor that a call reads before."""
        first = self.uses[0].node
        outputs = [use for use in self.uses if use.is_output]
        is_read = any(use.node == first and not use.is_output for use in self.uses)
        return outputs[0] if outputs and not is_read else None


def history_of(trace: Trace, tensor: int) -> History | None:
    """Returns what happened to a tensor; None for a number that is no tensor's."""
    users = [
        trace.nodes[identity]
        for identity in sorted(trace.nodes)
        if any(ref.tensor == tensor for ref in _refs(trace.nodes[identity]))
    ]
    uses = tuple(use for node in users for use in uses_of(trace, node) if use.ref.tensor == tensor)
    if not uses:
        return None
    storages = {storage_of(use.ref) for use in uses}
    sharing = {
        ref.tensor
        for node in trace.nodes.values()
        for ref in _refs(node)
        if storage_of(ref) in storages
    }
    return History(uses, tuple(sorted(sharing - {tensor})))


def _refs(node: Node) -> tuple[Ref, ...]:
    return (*node.inputs, *node.outputs)
