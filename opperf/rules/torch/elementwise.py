"""Families of PyTorch's elementwise operators, of one tensor or two."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
