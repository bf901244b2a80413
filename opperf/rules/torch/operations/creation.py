"""PyTorch's operators that make tensors from numbers."""

from __future__ import annotations

from opperf.operations.uses import Table

TABLE: Table = {}
