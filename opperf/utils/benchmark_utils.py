"""Benchmark single operators from Python."""

from __future__ import annotations

from opperf.api.selections import run_performance_test
from opperf.mxnet_api.benchmarks import run_benchmark_operator, run_op_benchmarks

__all__ = [
    "run_benchmark_operator",
    "run_op_benchmarks",
    "run_performance_test",
]
