"""Families of PyTorch's reductions, cumulative operators and statistics."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
