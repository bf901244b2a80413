"""Families of PyTorch's convolutions, and of those that are their gradients."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
