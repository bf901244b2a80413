"""Families of PyTorch's layers: linear, embedding, normalisation, dropout."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
