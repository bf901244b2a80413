"""Quantised operators."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_quantization_operators_benchmarks = RUNNERS["quantization"]
