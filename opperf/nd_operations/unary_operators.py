"""Operators of one tensor."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_mx_unary_operators_benchmarks = RUNNERS["unary"]
