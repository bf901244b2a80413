"""Indexing."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_indexing_routines_benchmarks = category_runner(
    "indexing", "run_indexing_routines_benchmarks", "indexing, slicing, gathering and scattering"
)
