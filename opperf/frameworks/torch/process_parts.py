"""Parts of PyTorch that a call may leave changed for all later calls of the process."""

from __future__ import annotations

import torch

from opperf.frameworks.base import ProcessPart


def _set_deterministic(before: tuple[bool, bool]) -> None:
    torch.use_deterministic_algorithms(before[0], warn_only=before[1])


PARTS = (
    ProcessPart(
        "PyTorch's default dtype changed",
        torch.get_default_dtype,
        torch.set_default_dtype,
        is_set_up=True,
    ),
    ProcessPart(
        "PyTorch's number of threads changed",
        torch.get_num_threads,
        torch.set_num_threads,
        is_set_up=True,
    ),
    ProcessPart(
        "PyTorch's gradients turned on or off",
        torch.is_grad_enabled,
        torch.set_grad_enabled,
        is_set_up=True,
    ),
    ProcessPart(
        "PyTorch's deterministic algorithms changed",
        lambda: (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
        _set_deterministic,
        is_set_up=True,
    ),
    ProcessPart(
        "PyTorch's precision of matrix products changed",
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
        is_set_up=True,
    ),
    ProcessPart(
        "PyTorch's default device changed",
        torch.get_default_device,
        torch.set_default_device,
        is_set_up=True,
    ),
)
