"""Families of PyTorch's operators that read and write at indices."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
