"""Families of PyTorch's operators over lists of tensors: fused optimizers, foreach."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()
