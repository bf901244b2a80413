"""Operators that move, shape, expand, round, join and split arrays."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_rearrange_operators_benchmarks = category_runner(
    "rearrange", "run_rearrange_operators_benchmarks", "operators that rearrange elements"
)

run_shape_operators_benchmarks = category_runner(
    "shape", "run_shape_operators_benchmarks", "operators that change or read a shape"
)

run_expanding_operators_benchmarks = category_runner(
    "expanding", "run_expanding_operators_benchmarks", "operators that expand or repeat an array"
)

run_rounding_operators_benchmarks = category_runner(
    "rounding", "run_rounding_operators_benchmarks", "rounding"
)

run_join_split_operators_benchmarks = category_runner(
    "join_split", "run_join_split_operators_benchmarks", "operators that join or split arrays"
)
