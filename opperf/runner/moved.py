"""The minimum bytes that a call reads and writes, from the memory extents of its tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opperf.frameworks.base import Extent
from opperf.model import Case
from opperf.rules.engine import OUTPUT


def writes_in_place(case: Case) -> bool:
    """Whether the call writes its output to one of its arguments. Only then is an output that
    shares memory with an input written; otherwise it is a view. An array that a user passes twice
    says nothing about that."""
    return OUTPUT in case.arguments or any(
        spec.fill.distribution == "same" and not spec.fill.digest for _, spec in case.tensors()
    )


def moved_bytes(inputs: Sequence[Extent], outputs: Sequence[Extent], in_place: bool) -> int:
    """Returns the bytes of the inputs, and of the outputs that share no memory with them; a tensor
    that occurs several times counts once. Zero if all outputs are views of inputs."""
    read = _distinct(inputs)
    made = [
        output for output in _distinct(outputs) if not any(map(output.shares_memory_with, read))
    ]
    if outputs and not made and not in_place:
        return 0
    return sum(one.bytes for one in (*read, *made))


def _distinct(extents: Iterable[Extent]) -> list[Extent]:
    """Returns the extents without duplicates. Empty ones, which are values without memory of their
    own, are all kept."""
    found: list[Extent] = []
    seen: set[tuple[int, int]] = set()
    for one in extents:
        place = (one.begin, one.end)
        if one.begin == one.end or place not in seen:
            found.append(one)
        seen.add(place)
    return found
