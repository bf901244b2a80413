"""Layers of neural networks."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_nn_basic_operators_benchmarks = RUNNERS["nn_basic"]
run_attention_operators_benchmarks = RUNNERS["attention"]
