"""Inputs for JAX's functions: the framework's rules module, from one module for each kind."""

from __future__ import annotations

from opperf.model import Kind
from opperf.operations.uses import merge
from opperf.rules import families as shared
from opperf.rules.engine import Alternatives
from opperf.rules.jax import (
    as_numpy,
    dependencies,
    half_precision,
    images,
    integers,
    language_models,
    lax_control,
    lax_convolutions,
    lax_elementwise,
    lax_indexing,
    lax_linalg,
    lax_others,
    lax_products,
    lax_reductions,
    lax_shapes,
    nn,
    operations,
    primitives,
    remaining,
    sampling,
    scipy_linalg,
    scipy_signal,
    work,
)
from opperf.rules.not_finite import NotFinite
from opperf.rules.registering import Families, Family

MODULES = (
    as_numpy,
    half_precision,
    images,
    integers,
    language_models,
    lax_control,
    lax_convolutions,
    lax_elementwise,
    lax_indexing,
    lax_linalg,
    lax_others,
    lax_products,
    lax_reductions,
    lax_shapes,
    nn,
    remaining,
    sampling,
    scipy_linalg,
    scipy_signal,
)
"""Modules that have `FAMILIES`."""

FAMILIES = Families()
FAMILIES.merge(shared.FAMILIES)
for _module in MODULES:
    FAMILIES.merge(_module.FAMILIES)

OPERATIONS = merge(as_numpy.OPERATIONS, operations.TABLE)
WORK = work.WORK
FUNCTIONS: dict[str, Family | str] = {}
NUMPY_INTERFACE = "numpy."
GRADIENTS = True
CONTENTS = dependencies.CONTENTS
TABLE: dict[tuple[str, Kind], Alternatives] = {}
OPTIONAL_TENSORS: frozenset[str] = frozenset()
TRAIN_PHASE: frozenset[str] = frozenset()
NEEDS_OUTPUT: frozenset[str] = frozenset()

NOT_BENCHMARKED: dict[str, str] = {
    **lax_others.NOT_BENCHMARKED,
    **primitives.NOT_BENCHMARKED,
    **remaining.NOT_BENCHMARKED,
}
"""Functions that cannot be called on their own, each with the reason."""

NOT_FINITE: dict[str, NotFinite] = {}
"""Functions whose results may have NaN or infinity, each with the reason."""
