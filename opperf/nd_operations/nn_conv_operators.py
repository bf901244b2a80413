"""Convolution and pooling."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_pooling_operators_benchmarks = category_runner(
    "pooling", "run_pooling_operators_benchmarks", "pooling: 1D and 2D, each type, global or not"
)

run_convolution_operators_benchmarks = category_runner(
    "convolution", "run_convolution_operators_benchmarks", "convolution"
)

run_transpose_convolution_operators_benchmarks = category_runner(
    "transpose_convolution",
    "run_transpose_convolution_operators_benchmarks",
    "transposed convolution",
)
