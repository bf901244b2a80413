"""Times of the native profiler, compared with wall-clock times and with the amount of work.

For each of some operators of MXNet, in turns: the median by both profilers, forward and backward,
and native over Python's. Then the native time of `exp` at growing sizes, per element. The exit code
is 1 if a native time exceeds a Python one by more than the noise of this machine, which is the
difference between two runs of the Python timer.

Run: python benchmarks/timers/profilers.py
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict

from tabulate import tabulate

import opperf  # noqa: F401  (before MXNet)
from opperf.utils.benchmark_utils import run_performance_test

TURNS = 7
RUNS = 20

SIZES = (64, 256, 1024, 4096)
"""Sides of squares."""

METRICS = ("forward", "backward")


def calls() -> dict[str, tuple[object, dict[str, object]]]:
    """Operators of every kind that is timed in a way of its own."""
    import mxnet as mx
    from mxnet import nd

    return {
        "relu": (nd.relu, {"data": (512, 512)}),
        "cast": (nd.cast, {"data": (512, 512), "dtype": "float64"}),
        "dot": (nd.dot, {"lhs": (256, 256), "rhs": (256, 256)}),
        "batch_dot": (nd.batch_dot, {"lhs": (16, 64, 64), "rhs": (16, 64, 64)}),
        "Custom": (nd.Custom, {"data": [(512, 512)], "op_type": "CustomAddOne"}),
        "sort": (nd.sort, {"data": (128, 128)}),
        "split": (nd.split, {"data": (256, 256), "num_outputs": 4}),
        "broadcast_add": (nd.broadcast_add, {"lhs": (256, 256), "rhs": (1, 256)}),
        "np.tanh": (mx.np.tanh, {"x": (256, 256)}),
    }


def medians(function: object, inputs: dict[str, object], profiler: str) -> dict[str, float]:
    """Median of each pass in ms."""
    ((by_name),) = run_performance_test(
        function, inputs=[inputs], profiler=profiler, warmup=5, runs=RUNS
    )
    ((name, (result,)),) = by_name.items()
    prefix = "avg_time_" if profiler == "native" else "p50_time_"
    return {
        metric: result[f"{prefix}{metric}_{name}"]
        for metric in METRICS
        if f"{prefix}{metric}_{name}" in result
    }


def main() -> int:
    """Print both tables; 1 if a native time is above a Python one."""
    rows, above = [], []
    for name, (function, inputs) in calls().items():
        taken: dict[tuple[str, str], list[float]] = defaultdict(list)
        for _ in range(TURNS):
            for profiler in ("native", "python"):
                for metric, value in medians(function, inputs, profiler).items():
                    taken[metric, profiler].append(value)
        for metric in METRICS:
            if (metric, "native") not in taken:
                continue
            native, python = (
                statistics.median(taken[metric, profiler]) for profiler in ("native", "python")
            )
            spread = max(taken[metric, "python"]) / min(taken[metric, "python"])
            rows.append((name, metric, native, python, native / python, spread))
            if native > python * spread:
                above.append(f"{name} {metric}")
    headers = ("Operator", "Pass", "Native ms", "Python ms", "Native/Python", "Python max/min")
    print(tabulate(rows, headers=headers, floatfmt=".4f"))
    from mxnet import nd

    sizes = []
    for side in SIZES:
        time_ms = medians(nd.exp, {"data": (side, side)}, "native")["forward"]
        sizes.append((side * side, time_ms, time_ms * 1e6 / side**2))
    print()
    print(tabulate(sizes, headers=("Elements of exp", "Native ms", "ns each"), floatfmt=".4f"))
    print(f"\nnative above Python: {', '.join(above) or 'none'}")
    return bool(above)


if __name__ == "__main__":
    sys.exit(main())
