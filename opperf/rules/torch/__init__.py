"""Inputs for PyTorch's operators: the framework's rules module, from one module for each kind."""

from __future__ import annotations

from opperf.model import Kind
from opperf.operations.uses import Table
from opperf.rules import families as shared
from opperf.rules.engine import Alternatives
from opperf.rules.not_finite import NotFinite
from opperf.rules.registering import Families, Family

FAMILIES = Families()
FAMILIES.merge(shared.FAMILIES)

OPERATIONS: Table = {}
FUNCTIONS: dict[str, Family | str] = {}
NUMPY_INTERFACE = ""
GRADIENTS = True
TABLE: dict[tuple[str, Kind], Alternatives] = {}
OPTIONAL_TENSORS: frozenset[str] = frozenset()
TRAIN_PHASE: frozenset[str] = frozenset()
NEEDS_OUTPUT: frozenset[str] = frozenset()
NOT_BENCHMARKED: dict[str, str] = {}
NOT_FINITE: dict[str, NotFinite] = {}
