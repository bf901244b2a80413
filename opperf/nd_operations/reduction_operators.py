"""Reductions."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_mx_reduction_operators_benchmarks = category_runner(
    "reduction",
    "run_mx_reduction_operators_benchmarks",
    "reductions over axis 0, axis 1 and all axes",
)
