"""What opperf's measuring adds: its Python timer against a bare loop, in one process.

Both time `nd.broadcast_add` and the wait for it, on arrays of the same shape and contents.
They take turns, in random order, and the ratio is taken turn by turn, so that the machine's
drift falls on both. Prints, per shape, both medians and the median of the ratios with its
95 % confidence interval. Run: python benchmarks/overhead.py
"""

from __future__ import annotations

import random
import statistics
from time import perf_counter_ns

from opperf.profilers.summary import median_interval
from opperf.utils.benchmark_utils import run_performance_test

SHAPES = ((1,), (64, 64), (1024, 1024))
TURNS = 40
"""Turns of each side per shape: the interval of the median is then some 13 of 40 ratios wide."""
CALLS = 200
"""Timed calls a turn."""
WARMUP = 20
TARGET = 0.03
NAME = "broadcast_add"


def by_opperf(shape: tuple[int, ...]) -> float:
    """Median of opperf's Python timer, in microseconds."""
    from mxnet import nd

    inputs = [{"lhs": shape, "rhs": shape}]
    (measured,) = run_performance_test(
        nd.broadcast_add,
        inputs=inputs,
        run_backward=False,
        ctx="cpu",
        profiler="python",
        warmup=WARMUP,
        runs=CALLS,
    )
    return measured[NAME][0][f"p50_time_forward_{NAME}"] * 1e3


def by_hand(shape: tuple[int, ...]) -> float:
    """Median of a bare loop, in microseconds."""
    from mxnet import nd

    lhs, rhs = nd.random.normal(shape=shape), nd.random.normal(shape=shape)
    for _ in range(WARMUP):
        nd.broadcast_add(lhs, rhs)
        nd.waitall()
    samples = []
    for _ in range(CALLS):
        begin = perf_counter_ns()
        result = nd.broadcast_add(lhs, rhs)
        nd.waitall()
        samples.append(perf_counter_ns() - begin)
        # As in opperf, giving the output back is not part of the operator's time: it would
        # add some 15 us, a second trip through MXNet's engine.
        del result
    return statistics.median(samples) / 1e3


def main() -> None:
    """Print a line per shape."""
    rng = random.Random(0)
    print(f"{NAME}, {TURNS} turns of {CALLS} calls, median of opperf / median of a bare loop")
    for shape in SHAPES:
        by_opperf(shape), by_hand(shape)
        pairs = []
        for _ in range(TURNS):
            if rng.random() < 0.5:
                ours = by_opperf(shape)
                bare = by_hand(shape)
            else:
                bare = by_hand(shape)
                ours = by_opperf(shape)
            pairs.append((ours, bare))
        ratios = sorted(ours / bare for ours, bare in pairs)
        low, high = median_interval(ratios)
        ratio = statistics.median(ratios)
        verdict = "within" if abs(ratio - 1) <= TARGET else "OUTSIDE"
        print(
            f"{shape!s:14} opperf {statistics.median(p[0] for p in pairs):9.1f} us   "
            f"bare {statistics.median(p[1] for p in pairs):9.1f} us   "
            f"ratio {ratio:.3f} [{low:.3f}, {high:.3f}]  {verdict} {TARGET:.0%}"
        )


if __name__ == "__main__":
    main()
