"""What is in no other category, the custom operator CustomAddOne among it."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_mx_misc_operators_benchmarks = category_runner(
    "misc",
    "run_mx_misc_operators_benchmarks",
    "what is in no other category, with the custom operator `CustomAddOne`",
)
