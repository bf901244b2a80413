"""Canonical operations: what the field calls them and their inputs, and what they compute.

Families of rules and tests of values know operations by these names and roles alone. Which
operation a framework's operator is, and what its arguments are called, is in that framework's
table of uses (`opperf.operations.uses`), as `opperf/rules/mxnet/operations`.
"""

from __future__ import annotations

from opperf.operations.canonical import CanonicalOperation
from opperf.operations.table import ALL

__all__ = ["OPERATIONS", "CanonicalOperation"]

OPERATIONS: dict[str, CanonicalOperation] = {operation.name: operation for operation in ALL}
"""Every canonical operation, by name."""
