"""PyTorch's matrix products and factorisations."""

from __future__ import annotations

from opperf.operations.uses import Table

TABLE: Table = {}
