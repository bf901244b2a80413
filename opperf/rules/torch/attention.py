"""Families of PyTorch's attention."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
