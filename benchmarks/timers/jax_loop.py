"""opperf's times of compiled JAX beside a loop written by hand.

Ten functions, called by opperf as `--mode jit --profiler python` does, and as a program does:
`jax.jit(f)(*arrays)` and `block_until_ready`, between two readings of the clock. In turns, in
random order; ratios are taken turn by turn, so that the machine's drift falls on both. Both call
the same program: where a second one and its results come to lie in memory moves a time of 50 us by
up to 20 % for as long as they lie there. It is compiled several times. Prints, per function, both
medians and the median ratio of the compilations, with its 95 % confidence interval.

Run: python -m benchmarks.timers.jax_loop
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from tabulate import tabulate

from opperf.frameworks import Framework, load
from opperf.frameworks.jax import programs
from opperf.instruments.prepared import PreparedCase
from opperf.instruments.profilers import profiler
from opperf.instruments.profilers.summary import median_interval
from opperf.model import Argument, Case, OperatorTarget, Settings, TensorSpec

SIDE = 512
"""Extent of the square arrays: 1 MiB, for calls of 50 us and more."""
COMPILATIONS = 15
"""The interval of the median is then that of the 4th to the 12th."""
TURNS = 20
"""Turns of each loop for each compilation."""
TURN_S = 0.01
"""Least seconds of a turn, so that it has some dozen calls of most functions: neighbours take a
share of the machine for some tenths of a second, mostly of both turns of a pair."""
LEAST_CALLS = 3
"""Least calls of a turn of opperf's, for the function that takes 30 ms."""
TARGET = 0.02
DEVICE = "cpu(0)"

SQUARE = TensorSpec((SIDE, SIDE))
CASES: dict[str, dict[str, Argument]] = {
    "jnp.exp": {"x": SQUARE},
    "jnp.tanh": {"x": SQUARE},
    "jnp.add": {"x": SQUARE, "y": SQUARE},
    "jnp.matmul": {"a": SQUARE, "b": SQUARE},
    "jnp.sum": {"a": SQUARE, "axis": 1},
    "jnp.cumsum": {"a": SQUARE, "axis": 1},
    "jnp.sort": {"a": SQUARE, "axis": 1},
    "jnp.transpose": {"a": SQUARE},
    "nn.softmax": {"x": SQUARE},
    "lax.erf": {"x": SQUARE},
}


class Row(NamedTuple):
    """The result of one function."""

    name: str
    opperf_us: float
    loop_us: float
    ratio: float
    low: float
    high: float


def by_hand(compiled: Callable[..., Any], arrays: list[Any]) -> list[int]:
    """Returns the nanoseconds of calls, as a program measures them. Results are freed after the
    clock is read, as opperf frees them: that takes half a microsecond."""
    times = []
    clock = time.perf_counter_ns
    end = clock() + TURN_S * 1e9
    while clock() < end:
        begun = clock()
        result = compiled(*arrays).block_until_ready()
        times.append(clock() - begun)
        del result
    return times


class Medians(NamedTuple):
    """Median microseconds of the turns of one compilation, and the median of their ratios."""

    opperf_us: float
    loop_us: float
    ratio: float


def measure(case: Case, framework: Framework) -> Medians:
    """Compiles a case, and times it by both in turns."""
    call: Any = PreparedCase(case, framework).call
    call()
    arrays = call.arrays
    before = programs.count()
    compiled = jax.jit(call.flat)
    compiled(*arrays).block_until_ready()
    if programs.count() != before:
        sys.exit(f"{case.label}: JAX compiled a second program for the loop by hand")
    own, repeated = profiler("python", framework, DEVICE), framework.modes.repeated(call)
    count = max(LEAST_CALLS, len(by_hand(compiled, arrays)))

    def by_opperf() -> float:
        (timed,) = own.trace([repeated], count)
        return statistics.median(timed.times) / 1e3

    def by_loop() -> float:
        return statistics.median(by_hand(compiled, arrays)) / 1e3

    pairs = []
    for _ in range(TURNS):
        order = [by_opperf, by_loop]
        random.shuffle(order)
        times = {one.__name__: one() for one in order}
        pairs.append((times["by_opperf"], times["by_loop"]))
    own_us, loop_us = (statistics.median(times) for times in zip(*pairs, strict=True))
    return Medians(own_us, loop_us, statistics.median(one / two for one, two in pairs))


def compare(name: str, arguments: dict[str, Argument]) -> Row:
    """Returns a function's medians by both."""
    framework = load("jax")
    settings = Settings(device=DEVICE, profiler="python", mode="jit")
    case = Case(OperatorTarget("jax", name), arguments, settings)
    with framework.scope(case):
        found = [measure(case, framework) for _ in range(COMPILATIONS)]
    own_us, loop_us, ratio = (statistics.median(one) for one in zip(*found, strict=True))
    low, high = median_interval(sorted(one.ratio for one in found))
    return Row(name, own_us, loop_us, ratio, low, high)


def main() -> None:
    """Prints a line for each function, and how many are within the target."""
    rows = [compare(name, arguments) for name, arguments in CASES.items()]
    print(tabulate(rows, headers=Row._fields, floatfmt=("", ".2f", ".2f", ".3f", ".3f", ".3f")))
    middle = [row for row in rows if abs(row.ratio - 1) <= TARGET]
    within = [row for row in rows if row.low <= 1 + TARGET and row.high >= 1 - TARGET]
    print(
        f"{len(middle)} of {len(rows)} medians within {TARGET:.0%}, {len(within)} intervals reach "
        "into it"
    )


if __name__ == "__main__":
    main()
