"""Families of PyTorch's operators that scale pictures and read them at a grid."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
