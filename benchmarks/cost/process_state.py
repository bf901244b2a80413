"""Cost of looking at what a case has left changed in its worker: the time of the state that is read
after each case, by part and in all, beside the target.

Prints the median of several readings of each part, in a process that has imported the framework and
has a child, as a worker that measures memory has. Thousands of cases pay it, so that it is to stay
below 100 us.

Run: python benchmarks/cost/process_state.py [FRAMEWORK]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from opperf.frameworks import load
from opperf.worker.process_state import PARTS, ProcessState

READINGS = 2000

WANTED_US = 100.0


def median_us(read: Callable[[], object]) -> float:
    """The median time of a call in microseconds."""
    times = []
    for _ in range(READINGS):
        begun = time.perf_counter_ns()
        read()
        times.append(time.perf_counter_ns() - begun)
    return statistics.median(times) / 1e3


def main(name: str) -> None:
    framework = load(name)
    with subprocess.Popen(["sleep", "600"]) as child:
        try:
            for part in (*PARTS, *framework.processes.parts):
                print(f"{median_us(part.read):7.2f} us  {part.left}")
            state = ProcessState(framework)
            state.begin()
            found = median_us(state.settle)
            print(f"{found:7.2f} us  all of it after a case; {WANTED_US:g} us wanted")
        finally:
            child.kill()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "numpy")
