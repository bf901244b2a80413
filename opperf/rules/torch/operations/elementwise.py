"""PyTorch's elementwise operators."""

from __future__ import annotations

from opperf.operations.uses import Table, merge, uses

UNARY: Table = uses(("exp", "log", "sqrt", "tanh"), "x=self")

TABLE: Table = merge(UNARY)
