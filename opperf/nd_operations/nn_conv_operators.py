"""Convolution and pooling."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_pooling_operators_benchmarks = RUNNERS["pooling"]
run_convolution_operators_benchmarks = RUNNERS["convolution"]
run_transpose_convolution_operators_benchmarks = RUNNERS["transpose_convolution"]
