"""Inputs of canonical operations, by role, shared by all frameworks that have no rule of their own
for an operator. A module for each kind of operation."""

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
