"""Operators of two tensors."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_mx_binary_broadcast_operators_benchmarks = RUNNERS["binary_broadcast"]
run_mx_binary_element_wise_operators_benchmarks = RUNNERS["binary_elementwise"]
run_mx_binary_misc_operators_benchmarks = RUNNERS["binary_misc"]
