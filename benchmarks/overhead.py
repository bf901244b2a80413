"""What opperf's measuring adds: its Python timer against other timers, in one process.

All time the same calls of `nd.broadcast_add` and the wait for them: a bare loop, `timeit`, and
`torch.utils.benchmark.Timer` where PyTorch is installed. They take turns, in random order, and
ratios are taken turn by turn, so that the machine's drift falls on all. Prints, per shape and
timer, the median of opperf's time over the other's with its 95 % confidence interval; and what
opperf says that an empty operator takes, beside what it takes off each call.

Run: python benchmarks/overhead.py
"""

from __future__ import annotations

import importlib.util
import random
import statistics
import timeit
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from opperf.profilers.python import PythonTimer
from opperf.profilers.summary import median_interval
from opperf.utils.benchmark_utils import run_performance_test

SHAPES = ((1,), (64, 64), (1024, 1024))
TURNS = 100
"""Turns of each timer per shape: the interval of the median is then some 20 of 100 ratios wide."""
CALLS = 100
"""Timed calls a turn: few, so that the turns of all timers fall into one pace of the core."""
LOOPS = 10
"""Calls in one sample of the timers that loop: of a tiny operator, some 100 us."""
WARMUP = 20
TARGET = 0.02
EMPTY_TARGET_NS = 100.0
NAME = "broadcast_add"

Call = Callable[[], Any]


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
    return float(measured[NAME][0][f"p50_time_forward_{NAME}"]) * 1e3


def calls(shape: tuple[int, ...]) -> tuple[Call, Call]:
    """The operator's call on warm inputs, and the wait for it."""
    from mxnet import nd

    lhs, rhs = nd.random.normal(shape=shape), nd.random.normal(shape=shape)
    for _ in range(WARMUP):
        nd.broadcast_add(lhs=lhs, rhs=rhs)
        nd.waitall()
    # With the arguments' names, as opperf is given them: they cost MXNet a microsecond more.
    return lambda: nd.broadcast_add(lhs=lhs, rhs=rhs), nd.waitall


def by_hand(shape: tuple[int, ...]) -> float:
    """Median of a bare loop, in microseconds."""
    call, wait = calls(shape)
    samples = []
    for _ in range(CALLS):
        begin = perf_counter_ns()
        result = call()
        wait()
        samples.append(perf_counter_ns() - begin)
        # As in opperf, giving the output back is not part of the operator's time: it would
        # add some 15 us, a second trip through MXNet's engine.
        del result
    return statistics.median(samples) / 1e3


def holding(shape: tuple[int, ...]) -> tuple[Call, Call]:
    """A statement that calls, waits and keeps the output, and one that gives the outputs back: the
    timers that loop would else count that, as above."""
    call, wait = calls(shape)
    held: list[Any] = []

    def statement() -> None:
        held.append(call())
        wait()

    return statement, held.clear


def by_timeit(shape: tuple[int, ...]) -> float:
    """Median of `timeit`, in microseconds."""
    statement, release = holding(shape)
    timer = timeit.Timer(statement, setup=release)
    samples = timer.repeat(repeat=CALLS // LOOPS, number=LOOPS)
    release()
    return statistics.median(samples) / LOOPS * 1e6


def by_torch(shape: tuple[int, ...]) -> float:
    """Median of PyTorch's timer, in microseconds."""
    from torch.utils.benchmark import Timer

    statement, release = holding(shape)
    names = {"statement": statement, "release": release}
    timer = Timer("statement()", setup="release()", globals=names)
    samples = [timer.timeit(LOOPS).median for _ in range(CALLS // LOOPS)]
    release()
    return statistics.median(samples) * 1e6


PEERS: dict[str, Callable[[tuple[int, ...]], float]] = {
    "a bare loop": by_hand,
    "timeit": by_timeit,
    **({"torch's Timer": by_torch} if importlib.util.find_spec("torch") else {}),
}


def empty() -> None:
    """Print what is left of an empty operator's time."""

    def nothing() -> None:
        """Stands for an operator that is done at once."""

    timer = PythonTimer(nothing)
    (timed,) = timer.trace([nothing], CALLS, loops=LOOPS)
    left = statistics.median(timed.times)
    bare = statistics.median(timeit.Timer(nothing).repeat(CALLS, LOOPS)) / LOOPS * 1e9
    print(
        f"empty operator: {left:.0f} ns after {timer.overhead_ns:.0f} ns are taken off, timeit "
        f"{bare:.0f} ns   {verdict(left <= EMPTY_TARGET_NS)} {EMPTY_TARGET_NS:.0f} ns"
    )


def verdict(good: bool) -> str:
    return "within" if good else "OUTSIDE"


def main() -> None:
    """Print a line per shape and timer."""
    empty()
    rng = random.Random(0)
    print(f"{NAME}, {TURNS} turns of {CALLS} calls, opperf's median over the other timer's")
    sides = {"opperf": by_opperf, **PEERS}
    for shape in SHAPES:
        times: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(-1, TURNS):
            for name in rng.sample(list(sides), len(sides)):
                taken = sides[name](shape)
                # The first turn warms up what each side needs for itself.
                if turn >= 0:
                    times[name].append(taken)
        ours = times.pop("opperf")
        print(f"{shape!s:14} opperf {statistics.median(ours):9.1f} us")
        for name, others in times.items():
            ratios = sorted(one / other for one, other in zip(ours, others, strict=True))
            low, high = median_interval(ratios)
            ratio = statistics.median(ratios)
            print(
                f"    {name:14} {statistics.median(others):9.1f} us   ratio {ratio:.3f} "
                f"[{low:.3f}, {high:.3f}]  {verdict(abs(ratio - 1) <= TARGET)} {TARGET:.0%}"
            )


if __name__ == "__main__":
    main()
