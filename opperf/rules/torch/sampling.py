"""Families of PyTorch's operators that draw random numbers."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
