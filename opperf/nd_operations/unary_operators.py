"""Operators of one tensor."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_mx_unary_operators_benchmarks = category_runner(
    "unary", "run_mx_unary_operators_benchmarks", "operators of one tensor and nothing else"
)
