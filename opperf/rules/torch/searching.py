"""Families of PyTorch's operators that sort, search and find unique values."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
