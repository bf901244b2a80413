"""Families of PyTorch's pooling."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
