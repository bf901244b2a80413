"""Layers of neural networks."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_nn_basic_operators_benchmarks = category_runner(
    "nn_basic", "run_nn_basic_operators_benchmarks", "layers of neural networks"
)

run_attention_operators_benchmarks = category_runner(
    "attention", "run_attention_operators_benchmarks", "the matrix products of attention layers"
)
