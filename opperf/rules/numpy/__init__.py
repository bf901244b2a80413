"""Inputs for NumPy's functions. Each module holds one family of rules; here they meet."""

from __future__ import annotations

from opperf.rules import families as shared
from opperf.rules.engine import Families
from opperf.rules.numpy import (
    elementwise,
    indexing,
    linalg,
    names,
    operations,
    reductions,
    sampling,
    shapes,
    statistics,
)

MODULES = (elementwise, indexing, linalg, reductions, sampling, shapes, statistics)
"""Modules that offer `FAMILIES`."""

FAMILIES = Families()
FAMILIES.merge(shared.FAMILIES)
for _module in MODULES:
    FAMILIES.merge(_module.FAMILIES)

OPERATIONS = operations.TABLE
GRADIENTS = False
TABLE = names.TABLE
OPTIONAL_TENSORS = names.OPTIONAL_TENSORS

TRAIN_PHASE: frozenset[str] = frozenset()
"""No function of NumPy knows of training."""

NEEDS_OUTPUT: frozenset[str] = frozenset()
"""Every function makes its output, or is given it under a name of its own."""

_CALLS_BACK = "takes a Python function, calls it for each part of an array, and measures that"

NOT_BENCHMARKED: dict[str, str] = dict.fromkeys(
    ("apply_along_axis", "apply_over_axes", "fromfunction", "mask_indices"), _CALLS_BACK
)
"""Functions that cannot be called with arrays and plain values, each with the reason."""
