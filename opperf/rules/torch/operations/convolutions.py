"""PyTorch's convolutions and pooling."""

from __future__ import annotations

from opperf.operations.uses import Table

TABLE: Table = {}
