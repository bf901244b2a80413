"""Kernel times by JAX's own profiler beside wall-clock times.

Loops of short steps, whose thunks the profiler records one by one, each at two lengths: what the
further steps take by `native` over what they take by `python`, which is 1 if what recording costs
is subtracted, no less and no more. Both in turns, on one core; the ratio is the median of the
turns' ratios with its 95 % confidence interval. Beside it the share of the recorded time that was
recording.

Run: python -m benchmarks.timers.jax_profilers
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from tabulate import tabulate

from opperf.frameworks.jax.thunks import NativeProfiler, thunk_ns
from opperf.frameworks.timing import PhaseTimes
from opperf.instruments.profilers.python import PythonTimer
from opperf.instruments.profilers.summary import median_interval

STEPS = (16, 80)
"""Lengths of the loops: the shorter one has as much of everything but steps."""
TURNS = 15
CALLS = 60
"""Calls of a turn of each loop: 1 to 60 ms."""
TARGET = 0.1

ROWS, WIDTH = 8, 64


def decay(carry: Any, row: Any) -> tuple[Any, Any]:
    """Thunks that take some 20 ns."""
    return 0.9 * carry + row, carry


def recurrence(carry: Any, row: Any) -> tuple[Any, Any]:
    """A product of matrices."""
    return jnp.tanh(carry @ jnp.full((WIDTH, WIDTH), 0.01) + row), None


def ordering(carry: Any, row: Any) -> tuple[Any, Any]:
    """A sort."""
    return jnp.sort(carry + row, axis=1), None


def generation(carry: Any, row: Any) -> tuple[Any, Any]:
    """Random numbers, a loop inside the loop."""
    key = jax.random.key(0)
    return carry + jax.random.normal(jax.random.fold_in(key, carry[0, 0].astype(int))), row[0]


BODIES = (decay, recurrence, ordering, generation)


class Row(NamedTuple):
    """The result of one loop."""

    body: str
    step_ns: float
    """By `python`."""
    native: float
    low: float
    high: float
    recorded: float


def loop(body: Callable[..., Any], steps: int) -> Callable[[], object]:
    """Returns a call of the compiled loop."""
    arrays = jnp.ones((ROWS, WIDTH)), jnp.linspace(0, 1, steps * ROWS * WIDTH)
    shaped = arrays[0], arrays[1].reshape(steps, ROWS, WIDTH)
    program = jax.jit(partial(jax.lax.scan, body)).lower(*shaped).compile()
    call = partial(program, *shaped)
    jax.block_until_ready(call())
    return lambda: jax.block_until_ready(call())


def compare(body: Callable[..., Any]) -> Row:
    """Returns a loop's times by both."""
    phases = [loop(body, steps) for steps in STEPS]
    native, python = NativeProfiler("cpu(0)"), PythonTimer(lambda: None)

    def further(timed: list[PhaseTimes]) -> float:
        few, many = (statistics.median(one.times) for one in timed)
        return (many - few) / (STEPS[1] - STEPS[0])

    ratios, steps_ns, shares = [], [], []
    for _ in range(TURNS):
        recorded = native.trace(phases, CALLS)
        step_ns = further(python.trace(phases, CALLS))
        ratios.append(further(recorded) / step_ns)
        steps_ns.append(step_ns)
        shares.append(recorded[1].recording.share)
    low, high = median_interval(sorted(ratios))
    middle = statistics.median
    return Row(body.__name__, middle(steps_ns), middle(ratios), low, high, middle(shares))


def main() -> None:
    """Prints a line for each loop."""
    # XLA's pool, which starts later, has as many threads as the process has cores.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rows = [compare(body) for body in BODIES]
    print(tabulate(rows, headers=Row._fields, floatfmt=("", ".0f", ".3f", ".3f", ".3f", ".0%")))
    within = [row for row in rows if abs(row.native - 1) <= TARGET]
    print(
        f"recording a thunk takes {thunk_ns():.0f} ns; {len(within)} of {len(rows)} within "
        f"{TARGET:.0%}"
    )


if __name__ == "__main__":
    main()
