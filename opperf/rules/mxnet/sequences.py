"""Operators on batches of sequences of different lengths, time along the first axis."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator, TensorSpec
from opperf.rules.engine import Families
from opperf.rules.shapes import cube
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, below, fixed, tensor

FAMILIES = Families()


def lengths(size: Preset) -> TensorSpec:
    """A length for each sequence of the batch, none longer than the data."""
    steps, batch, _ = cube(size)
    return fixed(batch, fill=below(steps + 1, start=1))


@FAMILIES.add("SequenceMask", "SequenceReverse")
def sequence(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Sequences of one length, and of a length each."""
    data = tensor(*cube(size))
    yield {"data": data}
    yield {"data": data, "sequence_length": lengths(size), "use_sequence_length": True}


@FAMILIES.add("SequenceLast")
def last(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Sequences of a length each, and of one length. The latter without a gradient: computing
    it writes beyond its memory in MXNet 1.9.1 and 2.0, which ends the process."""
    yield {
        "data": tensor(*cube(size)),
        "sequence_length": lengths(size),
        "use_sequence_length": True,
    }
    yield {"data": fixed(*cube(size))}
