"""Reductions."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_mx_reduction_operators_benchmarks = RUNNERS["reduction"]
