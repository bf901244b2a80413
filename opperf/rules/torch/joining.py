"""Families of PyTorch's operators that join and split tensors."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
