"""Optimizers' updates."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_optimizer_operators_benchmarks = category_runner(
    "optimizer", "run_optimizer_operators_benchmarks", "optimizers' updates"
)
