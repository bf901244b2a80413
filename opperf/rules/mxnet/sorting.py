"""Sorting and searching."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.engine import Families
from opperf.rules.shapes import square, tall, wide
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, tensor

FAMILIES = Families()

INDEX = "int32"
"""Dtype of the output's indices: float16, which may be the requested dtype, is exact up to 2048
only."""


@FAMILIES.add("topk")
def topk(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, for a few elements of each row in every form of output, and one along the first
    axis."""
    for form in ("indices", "value", "both", "mask"):
        yield {
            "data": tensor(*square(size)),
            "k": size.extent(10, least=2),
            "ret_typ": form,
            "dtype": INDEX,
        }
    yield {"data": tensor(*tall(size)), "k": 1, "axis": 0, "ret_typ": "value", "dtype": INDEX}


@FAMILIES.add("argmax_channel")
def argmax_channel(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores, for the class with the highest one in each row."""
    for shape in wide(size):
        yield {"data": fixed(*shape)}
