"""Families of PyTorch's operators that make tensors from numbers: constants, ranges, windows."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
