"""PyTorch's activations."""

from __future__ import annotations

from opperf.operations.uses import Table

TABLE: Table = {}
