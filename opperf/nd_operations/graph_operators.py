"""Graphs stored as sparse matrices."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_graph_operators_benchmarks = category_runner(
    "graph", "run_graph_operators_benchmarks", "operators on graphs stored as sparse matrices"
)
