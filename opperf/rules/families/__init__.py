"""Inputs of canonical operations, by role, for the operators of any framework that have no rule of
their own. Each kind of operation has a module."""

from __future__ import annotations

from opperf.rules.families import (
    activations,
    attention,
    convolution,
    creation,
    distances,
    distributions,
    elementwise,
    factors,
    images,
    indexing,
    joining,
    layers,
    linalg,
    losses,
    normalisation,
    products,
    recurrent,
    reductions,
    shapes,
    sorting,
    special,
    transforms,
)
from opperf.rules.registering import Families

MODULES = (
    *(activations, attention, convolution, creation, distances, distributions, elementwise),
    *(factors, images, indexing, joining, layers, linalg, losses, normalisation, products),
    *(recurrent, reductions, shapes, sorting, special, transforms),
)
"""Modules that have `FAMILIES`."""

FAMILIES = Families()
for _module in MODULES:
    FAMILIES.merge(_module.FAMILIES)
