"""Reductions, and cumulative sums."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_mx_reduction_operators_benchmarks = RUNNERS["reduction"]
run_cumulative_operators_benchmarks = RUNNERS["cumulative"]
