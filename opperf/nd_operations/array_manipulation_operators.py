"""Operators that move, shape, expand, round, join and split arrays."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_rearrange_operators_benchmarks = RUNNERS["rearrange"]
run_shape_operators_benchmarks = RUNNERS["shape"]
run_expanding_operators_benchmarks = RUNNERS["expanding"]
run_rounding_operators_benchmarks = RUNNERS["rounding"]
run_join_split_operators_benchmarks = RUNNERS["join_split"]
