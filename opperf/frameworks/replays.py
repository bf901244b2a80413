"""A sequence of calls with its data flow, which a framework replays, and what a replay reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from opperf.model import Case, TensorSpec

NOT_KEPT = -1
"""Slot of a result that no later call takes."""


class SequenceCall(NamedTuple):
    """A distinct call. Each tensor among its arguments has its position among the call's tensors as
    the name of its storage."""

    name: str
    """Of the operator, as results show it."""
    case: Case
    refusal: str = ""
    """Why it cannot be made here; empty if it can."""
    on_host: bool = False
    """Whether it computes on the CPU in a sequence of another device's calls."""


class Slot(NamedTuple):
    """A tensor of the sequence."""

    spec: TensorSpec
    """Its offset is that in its storage."""
    on_host: bool
    """Whether it is on the CPU in a sequence of another device's calls."""
    buffer: int = -1
    """Buffer that it is a view of, if it comes from outside; -1 for one that a call makes."""
    base: int = -1
    """Slot of the tensor, made by a call, whose storage it is a view of; -1 for none."""

    @property
    def is_outside(self) -> bool:
        """Whether no call of the sequence makes it."""
        return self.buffer >= 0


class Buffer(NamedTuple):
    """A storage of tensors from outside."""

    size: int
    """Bytes, up to the last element that a call uses."""
    on_host: bool


class Collective(NamedTuple):
    """A collective operation."""

    name: str
    dtype: str = ""
    """Empty if it is unknown."""
    sent: int = -1
    """Elements that each rank has; -1 if unknown."""
    ranks: int = 0
    """Number of ranks that make it; 0 if unknown."""


class Group(NamedTuple):
    """The processes that replay the ranks of a program."""

    rank: int
    """That of this process."""
    size: int
    port: int
    """Of this machine, at which they meet."""


class Step(NamedTuple):
    """One call of the sequence, or a collective operation."""

    call: int
    """Index of the distinct call; -1 of a collective operation."""
    inputs: tuple[int, ...] = ()
    """Slots of its tensors, in the order of the arguments."""
    outputs: tuple[int, ...] = ()
    """Slots of its results, lists opened; `NOT_KEPT` for those that no later call takes."""
    freed: tuple[int, ...] = ()
    """Slots that no later call takes."""
    gap_ns: int = 0
    """Pause of the program before the call."""
    recorded_ns: int = -1
    """Time of the call in the trace; -1 if unknown."""
    stream: int = 0
    """Number of the queue of the device."""
    collective: Collective | None = None
    """None for a call of an operator."""


class CallSequence(NamedTuple):
    """Calls in their order, with their data flow."""

    calls: Sequence[SequenceCall]
    slots: Sequence[Slot]
    buffers: Sequence[Buffer]
    steps: Sequence[Step]
    peak_bytes: int
    """Largest sum of the storages that calls have made and later ones take, as the trace has
    them."""
    skipped: Mapping[int, str]
    """Index of each step that is omitted as the user wants it, with the reason."""


@runtime_checkable
class Replayed(Protocol):
    """A sequence that is ready to be replayed: each call is an iteration."""

    sequence: CallSequence
    outside_bytes: int
    """Bytes of the tensors from outside."""

    @property
    def omitted(self) -> Mapping[int, str]:
        """Index of each step that is not replayed, with the reason."""
        ...

    def __call__(self) -> None: ...

    def step_times(self) -> Sequence[int]:
        """Returns the nanoseconds of each step in one iteration, in which each is waited for or
        timed by the device."""
        ...
