"""PyTorch's operators that draw random numbers."""

from __future__ import annotations

from opperf.operations.uses import Table

TABLE: Table = {}
