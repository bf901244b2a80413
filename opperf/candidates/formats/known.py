"""The known formats: which a file or folder is of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from opperf.candidates.formats import (
    backendbench,
    flashinfer,
    gpu_mode,
    kernelbench,
    robust_kbench,
)
from opperf.candidates.formats.base import Asked, ProblemSet
from opperf.errors import UsageError


class Format(NamedTuple):
    """How a format is recognised, and read."""

    recognizes: Callable[[Path], bool]
    read: Callable[[Asked], ProblemSet]


FORMATS = {
    module.NAME: Format(module.recognizes, module.read)
    for module in (flashinfer, gpu_mode, robust_kbench, backendbench, kernelbench)
}
"""The most particular first."""


def format_of(path: Path) -> str:
    """Returns the name of the format of a file or folder; empty if it is of none."""
    return next((name for name, each in FORMATS.items() if each.recognizes(path)), "")


def read(asked: Asked) -> ProblemSet:
    """Returns the problems of a file or folder. Raises `UsageError` and `RunFileError`."""
    name = format_of(asked.path)
    if not name:
        raise UsageError(
            f"{asked.path} has no problems of kernels that opperf reads: {', '.join(FORMATS)}"
        )
    return FORMATS[name].read(asked)
