"""Families of PyTorch's matrix products and factorisations."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
