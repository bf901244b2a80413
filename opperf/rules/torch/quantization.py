"""Families of PyTorch's quantised operators."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
