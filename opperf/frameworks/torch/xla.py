"""PyTorch/XLA: lazy tensors, computed at the end of each step, and dynamo's back end of XLA. Its
releases go with few versions of PyTorch; the tests have a stand-in for the package."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

PACKAGE = "torch_xla"

MODE, BACKEND = "xla", "openxla"
"""The mode of lazy tensors, and dynamo's back end, `compile:openxla`."""

RUNTIME = "PJRT_DEVICE"
"""Environment variable of the hardware that XLA computes on."""

HARDWARE = {"cpu": "CPU", "cuda": "CUDA", "tpu": "TPU"}
"""Its values, by PyTorch's type of the device that a case names."""


def obstacle() -> str:
    """Returns why XLA cannot be used here; empty if it can."""
    if importlib.util.find_spec(PACKAGE) is not None:
        return ""
    return (
        f"it needs {PACKAGE}, which is not installed; name an environment that has it with "
        f"--python, or pip install {PACKAGE} for a version of PyTorch that it goes with"
    )


def is_mode(mode: str) -> bool:
    """Whether a mode computes by XLA."""
    return mode == MODE or mode.partition(":")[2] == BACKEND


@functools.cache
def _package() -> tuple[Any, Any]:
    return importlib.import_module(PACKAGE), importlib.import_module(f"{PACKAGE}.core.xla_model")


_users: list[str] = []
"""Modes of this process's cases that compute by XLA now."""


@contextmanager
def scope(mode: str) -> Iterator[None]:
    """Returns a context of a case, in which XLA is waited for if the case's mode computes by it."""
    if not is_mode(mode):
        yield
        return
    _users.append(mode)
    try:
        yield
    finally:
        _users.clear()


def is_in_use() -> bool:
    """Whether a case of this process computes by XLA."""
    return bool(_users)


def device(kind: str) -> torch.device:
    """Returns XLA's device for the hardware of a type of device. The first one of a process decides
    for all, as XLA begins its runtime once."""
    os.environ.setdefault(RUNTIME, HARDWARE[kind])
    _, model = _package()
    found: torch.device = model.xla_device()
    return found


def end_step() -> None:
    """Has what was recorded computed, without waiting for it."""
    package, model = _package()
    # `sync` took the place of `mark_step`.
    getattr(package, "sync", model.mark_step)()


def wait() -> None:
    """Has what was recorded computed, and waits for it."""
    end_step()
    _package()[1].wait_device_ops()


def in_steps(call: Callable[[], Any]) -> Callable[[], Any]:
    """Returns a call that is a step of its own."""

    def stepped() -> Any:
        outputs = call()
        end_step()
        return outputs

    return stepped


def has_tpu() -> bool:
    """Whether XLA computes on a TPU here."""
    return not obstacle() and os.environ.get(RUNTIME) == HARDWARE["tpu"]
