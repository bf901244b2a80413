"""PyTorch's operators that read and write at indices."""

from __future__ import annotations

from opperf.operations.uses import Table

TABLE: Table = {}
