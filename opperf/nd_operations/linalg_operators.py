"""Linear algebra."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_linalg_operators_benchmarks = category_runner(
    "linalg", "run_linalg_operators_benchmarks", "linear algebra"
)
