"""PyTorch's reductions, cumulative operators and statistics."""

from __future__ import annotations

from opperf.operations.uses import Table

TABLE: Table = {}
