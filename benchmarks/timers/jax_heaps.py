"""What the heap of the C library does to XLA's compiler, whose threads allocate in parallel.

Processes compile the same functions of JAX, in turns and in random order, with one heap as opperf
configures it for other frameworks, and with one for each thread as for JAX. Prints the seconds of
each function, and the median ratio of the turns with its 95 % confidence interval.

Run: python -m benchmarks.timers.jax_heaps
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import time

from tabulate import tabulate

from opperf.instruments.profilers.summary import median_interval
from opperf.worker.pristine import configure_heap

TURNS = 9
"""The interval of the median is then that of the second to the eighth."""

HEAPS = {"one heap": "mxnet", "a heap each": "jax"}
"""The framework that each is configured for."""

FUNCTIONS = ("truncnorm.cdf", "gamma.cdf", "beta.cdf", "norm.ppf")
"""Functions of `jax.scipy.stats`, whose programs are long."""


def compile_all() -> dict[str, float]:
    """Returns the seconds to compile each function."""
    import jax
    from jax.scipy import stats

    calls = {
        "truncnorm.cdf": lambda x: stats.truncnorm.cdf(x, -1.0, 1.0),
        "gamma.cdf": lambda x: stats.gamma.cdf(x, 2.0),
        "beta.cdf": lambda x: stats.beta.cdf(x, 2.0, 3.0),
        "norm.ppf": stats.norm.ppf,
    }
    array = jax.numpy.ones((512, 512))
    found = {}
    for name in FUNCTIONS:
        lowered = jax.jit(calls[name]).lower(array)
        begun = time.perf_counter()
        lowered.compile()
        found[name] = time.perf_counter() - begun
    return found


def in_process(framework: str) -> dict[str, float]:
    """Returns the seconds in a process with the heap of this framework."""
    command = [sys.executable, "-m", "benchmarks.timers.jax_heaps", framework]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    """Prints the table; with a framework, compiles in this process and prints the seconds."""
    if len(sys.argv) > 1:
        configure_heap(sys.argv[1])
        print(json.dumps(compile_all()))
        return
    turns = []
    for _ in range(TURNS):
        order = list(HEAPS)
        random.shuffle(order)
        turns.append({name: in_process(HEAPS[name]) for name in order})
    one, each = HEAPS
    rows = []
    for name in FUNCTIONS:
        ratios = sorted(turn[one][name] / turn[each][name] for turn in turns)
        seconds = [statistics.median(turn[heap][name] for turn in turns) for heap in HEAPS]
        rows.append((name, *seconds, statistics.median(ratios), *median_interval(ratios)))
    print(tabulate(rows, headers=("function", one, each, "ratio", "low", "high"), floatfmt=".2f"))


if __name__ == "__main__":
    main()
