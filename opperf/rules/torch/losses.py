"""Families of PyTorch's losses."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
