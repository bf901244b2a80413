"""Inputs for canonical operations, by role: what every framework that has an operation measures it
with, unless its own rules say otherwise. Each module holds one kind of operations."""

from __future__ import annotations

from opperf.rules.engine import Families
from opperf.rules.families import (
    attention,
    convolution,
    creation,
    elementwise,
    indexing,
    layers,
    linalg,
    normalisation,
    recurrent,
    reductions,
    shapes,
    sorting,
)

MODULES = (
    *(attention, convolution, creation, elementwise, indexing, layers, linalg, normalisation),
    *(recurrent, reductions, shapes, sorting),
)
"""Modules that offer `FAMILIES`."""

FAMILIES = Families()
for _module in MODULES:
    FAMILIES.merge(_module.FAMILIES)
