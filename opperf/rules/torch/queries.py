"""Family of PyTorch's queries, which read what a tensor is and compute nothing."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Kind, MemoryFormat, Operator
from opperf.rules.registering import Families
from opperf.rules.shapes import column
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed

FAMILIES = Families()

PLAIN: dict[str, Argument] = {
    "dim": 0,
    "from_": "float32",
    "memory_format": MemoryFormat("contiguous"),
    "min": 2,
    "other": 2.0,
    "scalar": 2.0,
    "scalar1": 2.0,
    "scalar2": 3,
    "size": 8,
    "to": "float64",
    "type1": "float16",
    "type2": "float32",
}
"""Values of the arguments of queries that are no tensors."""

BOUNDED = ("sym_constrain_range", "sym_constrain_range_for_size")
"""Queries whose optional bound is what they check."""

ONE_ELEMENT = ("is_nonzero", "item")
"""Queries that read the value of a tensor of one element."""


@FAMILIES.category("query")
def query(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One call on a small tensor, as programs ask in each step: mostly dispatch."""
    shape = (1,) if operator.name in ONE_ELEMENT else column(size)
    yield {
        one.name: fixed(*shape) if one.kind is Kind.TENSOR else PLAIN[one.name]
        for one in operator.parameters
        if one.required or (operator.name in BOUNDED and one.name == "min")
    }
