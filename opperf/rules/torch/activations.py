"""Families of PyTorch's activations and their derivatives."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
