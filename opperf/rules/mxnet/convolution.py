"""Convolution, transposed convolution, pooling."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.engine import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, tensor

FAMILIES = Families()


@FAMILIES.add("Convolution")
def convolution(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """1D and 2D, as MXNet's users know them."""
    length = size.side(256)
    yield {
        "data": tensor(size.batch, 3, length), "weight": tensor(64, 3, 3), "bias": tensor(64),
        "kernel": (3,), "stride": (1,), "dilate": (1,), "pad": (0,), "num_filter": 64,
        "layout": "NCW",
    }
