"""Operators of two tensors."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_mx_binary_broadcast_operators_benchmarks = category_runner(
    "binary_broadcast",
    "run_mx_binary_broadcast_operators_benchmarks",
    "operators of two tensors that broadcast",
)

run_mx_binary_element_wise_operators_benchmarks = category_runner(
    "binary_elementwise",
    "run_mx_binary_element_wise_operators_benchmarks",
    "operators of two tensors of one shape",
)

run_mx_binary_misc_operators_benchmarks = category_runner(
    "binary_misc", "run_mx_binary_misc_operators_benchmarks", "the other operators of two tensors"
)
