"""The objects that a framework returns, and what it is called with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from opperf.model import Device, DType, Function, Generator, MemoryFormat

CPU = "cpu(0)"
"""The device that every framework has."""

REFUSALS = (
    *(TypeError, ValueError, IndexError, NotImplementedError, AttributeError, OverflowError),
)
"""Errors that frameworks written in Python raise for arguments that they do not accept."""

CallArguments = Mapping[str, Any]
"""The arguments of a call by name, as the framework takes them: its own tensors, whose types only
it knows, and plain values."""

Constant = DType | Device | MemoryFormat | Generator | Function
"""Plain values for which a framework has its own objects."""


class Gradient(Protocol):
    """One recorded forward computation and its backward pass. `record` runs the forward call, and
    `backward` computes the gradients of that call. Neither waits for the device."""

    def record(self) -> None: ...

    def backward(self) -> Any: ...


class Watched(Protocol):
    """A tensor among a call's arguments, as it was when it was watched."""

    def is_changed(self) -> bool:
        """Whether it has been written to since."""

    def restore(self, contents: Any) -> None:
        """Gives it the shape that it had, and the contents of a tensor that is like it."""


class Kept(Protocol):
    """A tensor, or what else has contents that calls can change, with a copy of them."""

    def is_changed(self) -> bool:
        """Whether it has been written to since the copy was made, or was restored."""

    def restore(self) -> None:
        """Gives it the shape and the contents that it had."""

    def is_touched(self) -> bool:
        """Whether it has been written to, as far as that is known without reading what is large."""
        return self.is_changed()

    def forget(self) -> bool:
        """Frees the copy if it is large. Returns whether it can still be restored."""
        return True


LARGE_BYTES = 2**20
"""Bytes of an array from which its contents are not read, nor a copy kept, to see whether a later
call writes to it: reading a mebibyte takes some 0.1 ms."""


@runtime_checkable
class ReadableGradient(Gradient, Protocol):
    """A gradient whose results can be read."""

    heads: Sequence[Any]
    """Gradients of the results, with which the backward pass begins."""

    def read(self, returned: Any) -> Sequence[Any]:
        """Returns the gradients of the last backward pass, of which `returned` is what `backward`
        returned: those of the differentiated inputs first, in their order, then any others; None
        for one that there is not."""


class MemoryReading(Protocol):
    """The result of a memory measurement; valid once its context and those around it have ended."""

    @property
    def peak_bytes(self) -> int:
        """Largest number of bytes allocated above the level at entry."""

    @property
    def kept_bytes(self) -> int:
        """Number of bytes still allocated at the end, above the level at entry."""

    @property
    def reserved_bytes(self) -> int | None:
        """Largest number of bytes above the level at entry that were reserved, by an allocator that
        reserves more of the device's memory than it gives away; None of any other."""


class Extent(NamedTuple):
    """The addresses of a tensor's data."""

    bytes: int
    """Size of the stored data: of a sparse tensor, its values and their indices."""
    begin: int = 0
    end: int = 0
    """First address, and the one after the last; equal if no other tensor shares the memory."""
    elements: int = 0
    """Number of elements, those that a stride of zero repeats included."""

    def shares_memory_with(self, other: Extent) -> bool:
        """Whether the two have an address in common."""
        return self.begin < other.end and other.begin < self.end


def count_moved_bytes(inputs: Sequence[Extent], outputs: Sequence[Extent], in_place: bool) -> int:
    """Returns the bytes of the inputs, and of the outputs that share no memory with them; a tensor
    that occurs several times counts once. Zero if all outputs are views of inputs."""
    read = distinct(inputs)
    made = [output for output in distinct(outputs) if not any(map(output.shares_memory_with, read))]
    if outputs and not made and not in_place:
        return 0
    return sum(extent.bytes for extent in (*read, *made))


class CallExtents(NamedTuple):
    """The tensors of a call."""

    read: Sequence[Extent]
    made: Sequence[Extent]
    in_place: bool
    """Whether results that share memory with inputs are written there."""

    @property
    def are_views(self) -> bool:
        """Whether all results are views of inputs."""
        return (
            bool(self.made)
            and not self.in_place
            and all(any(map(made.shares_memory_with, self.read)) for made in self.made)
        )

    @property
    def moved(self) -> int:
        """Least bytes, of which those of inputs that are results count once."""
        return count_moved_bytes(self.read, self.made, self.in_place)

    @property
    def made_bytes(self) -> int:
        """Bytes of the results."""
        return sum(extent.bytes for extent in distinct(self.made))

    @property
    def rewritten_bytes(self) -> int:
        """Bytes of the results that inputs are overwritten with."""
        inside = [extent for extent in self.made if any(map(extent.shares_memory_with, self.read))]
        return sum(extent.bytes for extent in distinct(inside)) if self.in_place else 0


def distinct(extents: Iterable[Extent]) -> list[Extent]:
    """Returns the extents without duplicates, but all empty ones: values without memory."""
    found: list[Extent] = []
    seen: set[tuple[int, int]] = set()
    for extent in extents:
        place = (extent.begin, extent.end)
        if extent.begin == extent.end or place not in seen:
            found.append(extent)
        seen.add(place)
    return found


class Flops(NamedTuple):
    """Floating-point operations."""

    total: float
    uncounted: tuple[str, ...] = ()
    """Names of the operators that have some and no formula: there are more than `total`."""


class Contents(NamedTuple):
    """The contents of a tensor, to be compared with another's."""

    shape: tuple[int, ...]
    dtype: str
    layout: str
    bytes: int
    """Size of its elements as `numbers` returns them."""
    numbers: Callable[[int], Any]
    """Returns every n-th element, in the order of the last axis first, as a NumPy vector of a dtype
    of NumPy's own that has the same numbers."""


class ProcessPart(NamedTuple):
    """A part of a process: how it is read, compared and restored."""

    left: str
    """Says what a call has left that changed it: `the working directory changed`."""
    read: Callable[[], Any]
    restore: Callable[[Any], object] | None = None
    """Is given what was read before; None if only another process has it as it was."""
    is_changed: Callable[[Any, Any], bool] = operator.ne
    """Is given what was read before, and what is read now."""
    is_set_up: bool = False
    """Whether a module may set it for all that it has, when it is imported, and a framework when it
    is first used: such a change stays."""
    compiler_adds: bool = False
    """Whether a compiler changes it for itself: it starts processes that compile for it."""
