"""Cost of a run of a whole registry: wall time, the operators' share of it, and memory.

Runs `opperf run` over every operator as a user does, and prints

- wall time, operator time (seconds in which the operators' own calls ran, warm-up included) and
  their ratio, the duty;
- the largest resident memory of the manager, of the worker, and of its forks, in which peaks of
  memory are read;
- how long `opperf --help` and `opperf list` take, each beside `python -c pass`, taken in turns.

Run: python benchmarks/cost/registry_sweep.py [--quick] [--framework NAME] [options of opperf run]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import psutil

from opperf.results.runfile import read_run

OPPERF = (sys.executable, "-m", "opperf")

EVERY_S = 0.1
"""Seconds between two looks at the processes: a large tensor lives longer than that."""

TURNS = 9
"""Starts of each command; the median of nine ignores a few disturbed ones."""

MIB = 2**20


class Memory(threading.Thread):
    """The largest resident memory of a process and of its children, by their role."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.peaks: Counter[str] = Counter()
        self._manager, self._done = psutil.Process(pid), threading.Event()

    def run(self) -> None:
        while not self._done.wait(EVERY_S):
            try:
                seen = {"manager": self._manager.memory_info().rss}
                for worker in self._manager.children():
                    seen["worker"] = max(seen.get("worker", 0), worker.memory_info().rss)
                    for fork in worker.children(recursive=True):
                        seen["forks"] = max(seen.get("forks", 0), fork.memory_info().rss)
            except psutil.Error:
                # The process ended after it was listed.
                continue
            for kind, size in seen.items():
                self.peaks[kind] = max(self.peaks[kind], size)

    def end(self) -> None:
        self._done.set()
        self.join()


def sweep(options: list[str], folder: Path) -> None:
    """Measures every operator and prints the cost."""
    output = folder / "sweep.jsonl"
    begun = time.perf_counter()
    process = subprocess.Popen([*OPPERF, "run", "-f", "jsonl", "-o", str(output), *options])
    memory = Memory(process.pid)
    memory.start()
    code = process.wait()
    wall_s = time.perf_counter() - begun
    memory.end()
    if code:
        sys.exit(f"opperf run ended with {code}")
    run, _ = read_run(output)
    busy_s = sum(record.busy_s for record in run.records)
    in_cases_s = sum(record.wall_s for record in run.records)
    operators = {record.case.label for record in run.records}
    slowest = max(run.records, key=lambda record: record.wall_s)
    counts = Counter(record.status.value for record in run.records)
    print(f"\n{len(run.records)} cases of {len(operators)} operators: {dict(counts)}")
    print(f"wall time      {wall_s:8.1f} s")
    print(f"in cases       {in_cases_s:8.1f} s")
    print(f"operator time  {busy_s:8.1f} s")
    print(f"duty           {busy_s / wall_s:8.1%}")
    print(f"slowest case   {slowest.wall_s:8.1f} s  {slowest.case.label}")
    for kind, size in memory.peaks.items():
        print(f"peak memory    {size / MIB:8.0f} MiB  {kind}")


def start_up(framework: str) -> None:
    """Prints the time of commands that measure nothing, compared with Python's start."""
    commands = {
        "python -c pass": (sys.executable, "-c", "pass"),
        "opperf --help": (*OPPERF, "--help"),
        "opperf list": (*OPPERF, "list", "--framework", framework),
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    # The first list fills the cache, and is not counted.
    subprocess.run(commands["opperf list"], stdout=subprocess.DEVNULL, check=True)
    for _ in range(TURNS):
        for name, command in commands.items():
            begun = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            times[name].append(time.perf_counter() - begun)
    least = statistics.median(times["python -c pass"])
    for name, taken in times.items():
        median = statistics.median(taken)
        print(f"{name:15} {median:6.3f} s  {median / least:5.1f} times python -c pass")


def main() -> None:
    options = sys.argv[1:]
    framework = options[options.index("--framework") + 1] if "--framework" in options else "mxnet"
    print(f"load {os.getloadavg()[0]:.2f}, {len(os.sched_getaffinity(0))} cores")
    start_up(framework)
    with tempfile.TemporaryDirectory() as folder:
        sweep(options, Path(folder))


if __name__ == "__main__":
    main()
