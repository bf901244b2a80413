"""PyTorch's layers: linear, embedding, normalisation, recurrent, attention."""

from __future__ import annotations

from opperf.operations.uses import Table

TABLE: Table = {}
