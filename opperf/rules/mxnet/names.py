"""Values by argument name and kind: what the field uses for `data`, `axis`, `lr` ..."""

from __future__ import annotations

from opperf.model import Argument, Kind, Operator
from opperf.rules.engine import Alternatives
from opperf.rules.sizes import Preset
from opperf.rules.values import tensor


def matrices(operator: Operator, size: Preset) -> list[Argument]:
    """A square matrix, a column and a tall matrix."""
    rows = size.extent(10000)
    return [
        tensor(size.extent(1024), size.extent(1024)), tensor(rows, 1),
        tensor(rows, size.extent(100)),
    ]


TABLE: dict[tuple[str, Kind], Alternatives] = {
    ("data", Kind.TENSOR): matrices,
}

OPTIONAL_TENSORS: frozenset[str] = frozenset()
