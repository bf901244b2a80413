"""Families of PyTorch's operators of sparse and nested tensors."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
