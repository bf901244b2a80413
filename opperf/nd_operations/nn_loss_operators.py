"""Losses."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_loss_operators_benchmarks = RUNNERS["loss"]
