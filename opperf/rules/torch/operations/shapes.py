"""PyTorch's operators that move, join, split and repeat elements."""

from __future__ import annotations

from opperf.operations.uses import Table

TABLE: Table = {}
