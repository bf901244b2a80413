"""PyTorch's quantised and sparse operators."""

from __future__ import annotations

from opperf.operations.uses import Table

TABLE: Table = {}
