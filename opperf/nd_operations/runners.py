"""The category runners: one function each, all of one make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from opperf.defaults import RUNS, WARMUP
from opperf.runner.calls import Results
from opperf.utils.benchmark_utils import run_category_benchmarks

Runner = Callable[..., Results]

RUNNERS: dict[str, Runner] = {}
"""The runner of every category, filled as the modules define theirs."""


def category_runner(category: str, name: str, what: str) -> Runner:
    """The function `name` that measures one category of `mx.nd`'s operators."""

    def runner(
        ctx: Any = None,
        dtype: Any = "float32",
        profiler: Literal["native", "python"] = "native",
        int64_tensor: str = "off",
        warmup: int = WARMUP,
        runs: int = RUNS,
    ) -> Results:
        return run_category_benchmarks(category, ctx, dtype, profiler, int64_tensor, warmup, runs)

    runner.__name__ = runner.__qualname__ = name
    runner.__doc__ = f"""Measure {what}.

    Returns `{{operator: [result, ...]}}`, a result for each configuration, with times in ms and
    memory in kB of 1000 bytes as `run_performance_test` gives them.
    """
    RUNNERS[category] = runner
    return runner
