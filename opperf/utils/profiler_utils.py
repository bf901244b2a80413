"""Measure any function, as a decorator."""

from __future__ import annotations

from opperf.mxnet_api.profiling import (
    cpp_profile,
    python_profile,
)

__all__ = [
    "cpp_profile",
    "python_profile",
]
