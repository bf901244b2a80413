"""Families of PyTorch's recurrent layers and cells."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
