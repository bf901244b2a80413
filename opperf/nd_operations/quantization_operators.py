"""Quantised operators."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_quantization_operators_benchmarks = category_runner(
    "quantization",
    "run_quantization_operators_benchmarks",
    "quantised operators and their conversions",
)
