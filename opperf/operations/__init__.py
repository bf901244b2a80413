"""Canonical operations: their names, inputs by role, and references. Families of rules and tests of
values use these names and roles alone; a framework's table of `uses` has the operation and the
argument names of each of its operators."""

from __future__ import annotations

from opperf.operations.table import ALL
from opperf.operations.uses import CanonicalOperation

__all__ = ["OPERATIONS", "CanonicalOperation"]

OPERATIONS: dict[str, CanonicalOperation] = {operation.name: operation for operation in ALL}
"""Every canonical operation, by name."""
