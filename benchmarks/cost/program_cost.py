"""Cost of a program's measurement beside the program's own time: what opperf adds to a bench.

A program that makes a number of steps of a millisecond and writes a rate for each is run in turns:
alone, with events that nobody reads, and measured; in one process, and in two side by side. Printed
are the wall times from before the start to after the end, and their median difference: of a program
that ends by itself, and of one that has to be stopped after as many steps.

Run: python benchmarks/cost/program_cost.py [TURNS]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from opperf.model import Case, ScriptTarget, Settings, Status
from opperf.programs.measuring import Programs

STEPS = 300

SCRIPT = """
import json, os, sys, time
fd, steps = int(os.environ["DATA_FD"]), int(sys.argv[1])
for n in range(steps):
    time.sleep(0.001)
    event = {"task": "train", "rate": 1000.0, "units": "items/s"}
    os.write(fd, (json.dumps(event) + "\\n").encode())
"""


def alone_s(script: Path, steps: int, processes: int) -> float:
    """Returns the seconds of the program by itself."""
    begun = time.perf_counter()
    with open(os.devnull, "wb") as file:  # noqa: PTH123 - a path without a file
        running = [
            subprocess.Popen(
                [sys.executable, str(script), str(steps)],
                env={**os.environ, "DATA_FD": str(file.fileno())},
                pass_fds=(file.fileno(),),
            )
            for _ in range(processes)
        ]
        for process in running:
            process.wait()
    return time.perf_counter() - begun


def measured_s(script: Path, folder: Path, steps: int, processes: int, stop: int) -> float:
    """Returns the seconds of the program measured."""
    target = ScriptTarget("bench", str(script), (str(steps),), processes=processes, stop=stop)
    case = Case(target, {}, Settings(), passes=())
    begun = time.perf_counter()
    record = Programs().measure(case, folder / "streams")
    took = time.perf_counter() - begun
    assert record.status is Status.OK, record.reason
    return took


def main(turns: int = 11) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "steps.py"
        script.write_text(SCRIPT)
        for processes in (1, 2):
            alone, measured, stopped = [], [], []
            for _ in range(turns):
                alone.append(alone_s(script, STEPS, processes))
                measured.append(measured_s(script, folder, STEPS, processes, STEPS))
                stopped.append(measured_s(script, folder, 10**6, processes, STEPS - 10))
            own = statistics.median(alone)
            for what, times in (("to its end", measured), ("stopped", stopped)):
                added = statistics.median(
                    more - less for more, less in zip(times, alone, strict=True)
                )
                print(
                    f"{processes} processes, {what:10}: {statistics.median(times):.3f} s, alone "
                    f"{own:.3f} s, added {1e3 * added:.0f} ms"
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
