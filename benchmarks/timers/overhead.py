"""Overhead of opperf's Python timer, compared with other timers in one process.

All time the same calls of `nd.broadcast_add` and their synchronisation: a bare loop, `timeit`, and
`torch.utils.benchmark.Timer` where PyTorch is installed. They take turns of a few calls each, in
random order, and ratios are taken turn by turn, so that the machine's drift falls on all. Prints,
per shape and timer, the median of opperf's time over the other's with its 95 % confidence interval;
and the time that opperf measures for an empty operator, with the overhead that it subtracts.

Run: python benchmarks/timers/overhead.py
"""

from __future__ import annotations

import functools
import importlib.util
import os
import random
import statistics
import timeit
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from opperf.frameworks import load
from opperf.frameworks.timing import Profiler
from opperf.instruments.prepared import PreparedCase
from opperf.instruments.profilers import profiler
from opperf.instruments.profilers.python import PythonTimer
from opperf.instruments.profilers.summary import median_interval
from opperf.model import Case, OperatorTarget, Settings, TensorSpec
from opperf.worker.pristine import configure_heap

SHAPES = ((1,), (64, 64), (1024, 1024))
TURNS = 150
"""Turns of each timer per shape: the interval of the median is then some 24 of 150 ratios wide."""
CALLS = 40
"""Timed calls a turn: few, so that the core's speed is the same in the turns of all timers."""
LOOPS = 20
"""Calls whose mean is a sample, the same for every timer: times are skewed, and a mean of several
is larger than the median of one. With five, the work of PyTorch's timer around a sample was 3 % of
it."""
WARM_TURNS = 20
"""Untimed turns, after which each timer is warm."""
TARGET = 0.02
EMPTY_TARGET_NS = 100.0
NAME = "broadcast_add"
DEVICE = "cpu(0)"

Call = Callable[[], Any]


@functools.cache
def measured(shape: tuple[int, ...]) -> tuple[Profiler, PreparedCase]:
    """opperf's timer, and the case it times."""
    framework = load("mxnet")
    tensors = {name: TensorSpec(shape) for name in ("lhs", "rhs")}
    case = Case(OperatorTarget("mxnet", NAME), tensors, Settings(device=DEVICE, profiler="python"))
    with framework.scope(case):
        return profiler("python", framework, DEVICE), PreparedCase(case, framework)


def by_opperf(shape: tuple[int, ...]) -> float:
    """Median of opperf's Python timer, in microseconds."""
    timer, prepared = measured(shape)
    (timed,) = timer.trace([prepared.call], CALLS // LOOPS, LOOPS)
    return statistics.median(timed.times) / 1e3


def calls(shape: tuple[int, ...]) -> tuple[Call, Call]:
    """Returns the call that opperf times, and its synchronisation. The call passes its arguments by
    keyword, which costs a microsecond in every timer."""
    from mxnet import nd

    return measured(shape)[1].call, nd.waitall


def by_hand(shape: tuple[int, ...]) -> float:
    """Median of a bare loop, in microseconds."""
    call, wait = calls(shape)
    samples = []
    for _ in range(CALLS // LOOPS):
        total = 0
        for _ in range(LOOPS):
            begin = perf_counter_ns()
            result = call()
            wait()
            total += perf_counter_ns() - begin
            # As in opperf, freeing the output is not part of the operator's time: it would add
            # about 15 us, a second pass through MXNet's engine.
            del result
        samples.append(total / LOOPS)
    return statistics.median(samples) / 1e3


STATEMENT = "keep(call()); wait()"
"""The statement for timers that loop, as text: a function call around it would be timed as well.
Outputs are freed between samples, for the reason above."""


def names(shape: tuple[int, ...]) -> dict[str, Any]:
    """Returns the variables of the statement and of its set-up, `release()`."""
    call, wait = calls(shape)
    held: list[Any] = []
    return {"call": call, "wait": wait, "keep": held.append, "release": held.clear}


def by_timeit(shape: tuple[int, ...]) -> float:
    """Median of `timeit`, in microseconds."""
    timer = timeit.Timer(STATEMENT, setup="release()", globals=names(shape))
    return statistics.median(timer.repeat(repeat=CALLS // LOOPS, number=LOOPS)) / LOOPS * 1e6


def by_torch(shape: tuple[int, ...]) -> float:
    """Median of PyTorch's timer, in microseconds."""
    from torch.utils.benchmark import Timer

    timer = Timer(STATEMENT, setup="release()", globals=names(shape))
    return statistics.median(timer.timeit(LOOPS).median for _ in range(CALLS // LOOPS)) * 1e6


PEERS: dict[str, Callable[[tuple[int, ...]], float]] = {
    "a bare loop": by_hand,
    "timeit": by_timeit,
    **({"torch's Timer": by_torch} if importlib.util.find_spec("torch") else {}),
}


def empty() -> None:
    """Prints the time measured for an empty operator."""

    def nothing() -> None:
        """An empty operator."""

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


def on_one_core() -> None:
    """Keep MXNet's threads on this one's core: to wake one on another core takes as long as that
    core is deep asleep, which depends on whose turn was last."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    # As in opperf's workers, so that timers that hold outputs do not wait for fresh pages.
    configure_heap("mxnet")


def main() -> None:
    """Print a line per shape and timer."""
    on_one_core()
    empty()
    rng = random.Random(0)
    print(f"{NAME}, {TURNS} turns of {CALLS} calls, opperf's median over the other timer's")
    sides = {"opperf": by_opperf, **PEERS}
    for shape in SHAPES:
        times: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(-WARM_TURNS, TURNS):
            for name in rng.sample(list(sides), len(sides)):
                taken = sides[name](shape)
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
