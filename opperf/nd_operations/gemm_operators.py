"""Matrix products."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_gemm_operators_benchmarks = category_runner(
    "gemm", "run_gemm_operators_benchmarks", "matrix products: dot, batch_dot, khatri_rao"
)
