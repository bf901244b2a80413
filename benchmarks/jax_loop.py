"""opperf's times of compiled JAX beside a loop written by hand.

Ten functions, called by opperf as `--mode jit --profiler python` does, and as a program does:
`jax.jit(f)(*arrays)` and `block_until_ready`, between two readings of the clock. In turns, in
random order; ratios are taken turn by turn, so that the machine's drift falls on both. Prints, per
function, both medians and the median of the ratios with its 95 % confidence interval.

Run: python -m benchmarks.jax_loop
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from tabulate import tabulate

from opperf.frameworks import load
from opperf.model import Argument, Case, OperatorTarget, Settings, TensorSpec
from opperf.profilers import profiler
from opperf.profilers.summary import median_interval
from opperf.runner.prepared import PreparedCase

SIDE = 512
"""Extent of the square arrays: 1 MiB, for calls of 50 us and more."""
TURNS = 101
"""Turns of each loop: the interval of the median is then some 21 of 101 ratios wide."""
TURN_S = 0.01
"""Least seconds of a turn, so that it has some dozen calls of most functions: neighbours take a
share of the machine for some tenths of a second, mostly of both turns of a pair."""
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
    """Returns the nanoseconds of calls, as a program measures them."""
    times = []
    clock = time.perf_counter_ns
    end = clock() + TURN_S * 1e9
    while clock() < end:
        begun = clock()
        compiled(*arrays).block_until_ready()
        times.append(clock() - begun)
    return times


def compare(name: str, arguments: dict[str, Argument]) -> Row:
    """Returns a function's medians by both, in turns."""
    framework = load("jax")
    settings = Settings(device=DEVICE, profiler="python", mode="jit")
    case = Case(OperatorTarget("jax", name), arguments, settings)
    with framework.scope(case):
        prepared = PreparedCase(case, framework)
        function = framework.function(case.target)
        values = prepared.arguments
        arrays = [one for one in values.values() if isinstance(one, jax.Array)]
        plain = {key: one for key, one in values.items() if not isinstance(one, jax.Array)}
        prepared.call()
        compiled = jax.jit(lambda *taken: function(*taken, **plain))
        compiled(*arrays).block_until_ready()
        own = profiler("python", framework, DEVICE)
        count = max(10, len(by_hand(compiled, arrays)))

        def by_opperf() -> float:
            (timed,) = own.trace([prepared.call], count)
            return statistics.median(timed.times) / 1e3

        def by_loop() -> float:
            return statistics.median(by_hand(compiled, arrays)) / 1e3

        pairs = []
        for _ in range(TURNS):
            order = [by_opperf, by_loop]
            random.shuffle(order)
            times = {one.__name__: one() for one in order}
            pairs.append((times["by_opperf"], times["by_loop"]))
    ratios = sorted(one / two for one, two in pairs)
    low, high = median_interval(ratios)
    own_us, loop_us = (statistics.median(times) for times in zip(*pairs, strict=True))
    return Row(name, own_us, loop_us, statistics.median(ratios), low, high)


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
