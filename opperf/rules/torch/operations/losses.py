"""PyTorch's losses."""

from __future__ import annotations

from opperf.operations.uses import Table

TABLE: Table = {}
