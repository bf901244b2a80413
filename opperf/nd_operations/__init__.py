"""MXNet's operators by category, one module each, and all of them at once."""

from __future__ import annotations

from typing import Any, Literal

from opperf.defaults import RUNS, WARMUP
from opperf.nd_operations import (
    array_manipulation_operators,
    binary_operators,
    gemm_operators,
    graph_operators,
    indexing_routines,
    linalg_operators,
    misc_operators,
    nn_activation_operators,
    nn_basic_operators,
    nn_conv_operators,
    nn_loss_operators,
    nn_optimizer_operators,
    quantization_operators,
    random_sampling_operators,
    reduction_operators,
    sorting_searching_operators,
    unary_operators,
    vision_operators,
)
from opperf.nd_operations.runners import RUNNERS
from opperf.runner.calls import Results
from opperf.utils.common_utils import merge_map_list

MODULES = (
    array_manipulation_operators,
    binary_operators,
    gemm_operators,
    graph_operators,
    indexing_routines,
    linalg_operators,
    misc_operators,
    nn_activation_operators,
    nn_basic_operators,
    nn_conv_operators,
    nn_loss_operators,
    nn_optimizer_operators,
    quantization_operators,
    random_sampling_operators,
    reduction_operators,
    sorting_searching_operators,
    unary_operators,
    vision_operators,
)
"""Importing these fills `RUNNERS`."""


def run_all_mxnet_operator_benchmarks(
    ctx: Any = None,
    dtype: Any = "float32",
    profiler: Literal["native", "python"] = "native",
    int64_tensor: str = "off",
    warmup: int = WARMUP,
    runs: int = RUNS,
) -> Results:
    """Measure every category of `mx.nd`'s operators, in a worker process.

    Returns `{operator: [result, ...]}`, sorted by operator, as each runner gives it.
    """
    return merge_map_list(
        [runner(ctx, dtype, profiler, int64_tensor, warmup, runs) for runner in RUNNERS.values()]
    )
