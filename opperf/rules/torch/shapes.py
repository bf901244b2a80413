"""Families of PyTorch's operators that view, move and repeat elements."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
