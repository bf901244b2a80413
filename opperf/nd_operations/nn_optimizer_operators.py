"""Optimizers' updates."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_optimizer_operators_benchmarks = RUNNERS["optimizer"]
