"""Sorting and searching."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_sorting_searching_operators_benchmarks = category_runner(
    "sorting_searching", "run_sorting_searching_operators_benchmarks", "sorting and searching"
)
