"""The runner of operators that rearrange elements, at its older place."""

from __future__ import annotations

from opperf.nd_operations.array_manipulation_operators import run_rearrange_operators_benchmarks

__all__ = ["run_rearrange_operators_benchmarks"]
