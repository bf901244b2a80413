"""Inputs for NumPy's functions: the rules module of the framework, from a module for each kind."""

from __future__ import annotations

from opperf.frameworks.numpy import excluded
from opperf.operations.work import sizes
from opperf.rules import families as shared
from opperf.rules.differences import IN_DOUBLE, Difference
from opperf.rules.not_finite import UNWRITTEN, NotFinite
from opperf.rules.numpy import (
    elementwise,
    indexing,
    layouts,
    linalg,
    names,
    operations,
    reductions,
    sampling,
    shapes,
    statistics,
)
from opperf.rules.registering import Families, Family

MODULES = (elementwise, indexing, layouts, linalg, reductions, sampling, shapes, statistics)
"""Modules that offer `FAMILIES`."""

FAMILIES = Families()
FAMILIES.merge(shared.FAMILIES)
for _module in MODULES:
    FAMILIES.merge(_module.FAMILIES)

WORK = dict.fromkeys(("empty", "empty_like"), sizes.UNWRITTEN)
OPERATIONS = operations.TABLE
FUNCTIONS: dict[str, Family | str] = {
    **excluded.NAMES,
    **dict.fromkeys(("format_float_positional", "format_float_scientific"), excluded.TEXT),
}
"""The public functions that are no operators, each with the reason."""
NUMPY_INTERFACE = ""
GRADIENTS = False
TABLE = names.TABLE
OPTIONAL_TENSORS = names.OPTIONAL_TENSORS

TRAIN_PHASE: frozenset[str] = frozenset()
"""NumPy has no training phase."""

NEEDS_OUTPUT: frozenset[str] = frozenset()
"""Every function allocates its output, or takes it under a parameter of its own."""

_CALLS_BACK = "calls a Python function for each part of an array, whose time would be measured"

NOT_BENCHMARKED: dict[str, str] = dict.fromkeys(
    ("apply_along_axis", "apply_over_axes", "fromfunction", "mask_indices"), _CALLS_BACK
)
"""Functions that cannot be called with arrays and plain values, each with the reason."""

DIFFERENCES: dict[str, Difference] = dict.fromkeys(
    (
        *("fourier_transform", "hermitian_fourier_transform", "inverse_fourier_transform"),
        *("inverse_hermitian_fourier_transform", "inverse_real_fourier_transform"),
        *("real_fourier_transform", "correlation_coefficients", "covariance", "vandermonde"),
    ),
    IN_DOUBLE,
)

NOT_FINITE: dict[str, NotFinite] = dict.fromkeys(("empty", "empty_like"), UNWRITTEN)
"""Functions whose results may have NaN or infinity, each with the reason."""
