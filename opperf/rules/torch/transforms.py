"""Families of PyTorch's Fourier transforms."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
