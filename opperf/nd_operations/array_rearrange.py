"""The older place of the runner for operators that rearrange elements."""

from __future__ import annotations

from opperf.nd_operations.array_manipulation_operators import run_rearrange_operators_benchmarks

__all__ = ["run_rearrange_operators_benchmarks"]
