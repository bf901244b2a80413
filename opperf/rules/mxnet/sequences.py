"""The operator on batches of sequences that MXNet measures in a way of its own."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.engine import Families
from opperf.rules.families.layers import lengths
from opperf.rules.shapes import cube
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, tensor

FAMILIES = Families()


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
