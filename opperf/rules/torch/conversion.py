"""Families of PyTorch's operators that copy or convert tensors, or return facts about them."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
