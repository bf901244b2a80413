"""The devices that have a kernel of an operator, by the dispatcher's own table."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from opperf.frameworks.torch import private, registry
from opperf.frameworks.torch.devices import type_of
from opperf.model import Operator

COMPOSITE = (
    "CompositeImplicitAutograd",
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)
"""Dispatch keys of kernels that call other operators, on any device."""

OF_DEVICE = ("{}", "Quantized{}", "Sparse{}", "SparseCsr{}", "NestedTensor{}")
"""Dispatch keys of a device's kernels: of dense tensors and of each other kind."""

ONLY: Mapping[str, tuple[str, ...]] = {"cpu": ("MkldnnCPU",)}
"""Dispatch keys that only one type of device has."""

KEYS: Mapping[str, str] = {"cpu": "CPU", "cuda": "CUDA", "mps": "MPS", "xpu": "XPU"}
"""Name of a type of device in dispatch keys."""


def missing(operator: Operator, device: str) -> str:
    """Returns why an operator cannot run on a device; empty if the device has a kernel of it."""
    found = registry.at(operator.target)
    kind = type_of(device)
    own = (pattern.format(KEYS[kind]) for pattern in OF_DEVICE)
    keys = (*COMPOSITE, *own, *ONLY.get(kind, ()))
    has_kernel = private.HAS_KERNEL.find()
    if found is None or has_kernel is None:
        return ""
    if any(has_kernel(found.entry.registered, key) for key in keys):
        return ""
    return f"PyTorch {torch.__version__} has no kernel of it for {device}"
