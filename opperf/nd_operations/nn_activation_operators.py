"""Activations."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_activation_operators_benchmarks = category_runner(
    "activation", "run_activation_operators_benchmarks", "activations, each kind on each shape"
)
