"""The bytes that a call has to read and write at least, from where its tensors are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opperf.frameworks.base import Extent
from opperf.model import Case
from opperf.rules.engine import OUTPUT


def writes_in_place(case: Case) -> bool:
    """Whether the call writes its output to one of its arguments. An output that is an input is
    then the result of work, and elsewhere a view."""
    return OUTPUT in case.arguments or any(
        spec.fill.distribution == "same" for _, spec in case.tensors()
    )


def moved_bytes(inputs: Sequence[Extent], outputs: Sequence[Extent], in_place: bool) -> int:
    """Bytes of the inputs, and of the outputs that are none of them; a tensor that is there
    several times counts once. Nothing, where all outputs are views of inputs."""
    read = _distinct(inputs)
    made = [
        output for output in _distinct(outputs) if not any(map(output.shares_memory_with, read))
    ]
    if outputs and not made and not in_place:
        return 0
    return sum(one.bytes for one in (*read, *made))


def _distinct(extents: Iterable[Extent]) -> list[Extent]:
    """Each piece of memory once. A value that is in no memory of its own is another each time."""
    found: list[Extent] = []
    seen: set[tuple[int, int]] = set()
    for one in extents:
        place = (one.begin, one.end)
        if one.begin == one.end or place not in seen:
            found.append(one)
        seen.add(place)
    return found
