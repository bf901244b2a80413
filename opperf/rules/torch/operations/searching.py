"""PyTorch's operators that sort, search and find unique values."""

from __future__ import annotations

from opperf.operations.uses import Table

TABLE: Table = {}
