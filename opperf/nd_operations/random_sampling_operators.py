"""Random numbers."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_mx_random_sampling_operators_benchmarks = category_runner(
    "random_sampling",
    "run_mx_random_sampling_operators_benchmarks",
    "random sampling and the densities of distributions",
)
