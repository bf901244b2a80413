"""Overhead of the hooks that observe a program's steps, at a millisecond a step.

A loop over a loader of batches, each of which computes for about a millisecond by the clock of its
own thread, runs bare and under each hook in turns, by the launcher that programs are measured with.
The program prints its own time of each step, which is that of the wall clock; the median step with
the hook over that of the bare loop of the same turn is one ratio. Printed are the median of the
ratios, less one, with its 95 % interval. A hook's cost is far below the scatter of two processes on
a machine that others use, and its writes are in one step of a hundred, which no median has: the
second column is the processor time that the hook and its writes take for a step, of a process whose
loop does nothing else.

Run: python benchmarks/cost/step_hooks.py [TURNS [STEPS]]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from opperf.instruments.profilers.summary import median_interval
from opperf.programs.launching import LAUNCHER, HookOptions

LIMIT = 0.01
"""Largest overhead that is wanted, as a share of a step."""

SCRIPT = """
import statistics, sys, time

STEPS, WORK_NS = int(sys.argv[1]), int(sys.argv[2])

def batches():
    batch = [0] * 32
    for _ in range(STEPS):
        yield batch

def step(batch):
    until = time.perf_counter_ns() + WORK_NS
    while time.perf_counter_ns() < until:
        pass
    return 0.5

def main():
    times, last = [], time.perf_counter_ns()
    for batch in batches():
        step(batch)
        now = time.perf_counter_ns()
        times.append(now - last)
        last = now
    print(statistics.median(times))

main()
"""

HOOKS = {
    "bare": [],
    "loader": [["loader", "main", "batches"]],
    "function": [["function", "main", "step"]],
    "both": [["function", "main", "step"], ["loader", "main", "batches"]],
}


def step_ns(script: Path, hooks: list[list[str]], steps: int, work_ns: int) -> tuple[float, float]:
    """Returns the median of the program's steps, which somebody reads meanwhile, and the process's
    processor time for each."""
    data, child = os.pipe()
    control, ours = os.pipe()
    options = msgspec.json.encode(HookOptions(hooks, control=control)).decode()
    command = [sys.executable, str(LAUNCHER), options, str(script)]
    process = subprocess.Popen(
        [*command, str(steps), str(work_ns)],
        stdout=subprocess.PIPE,
        env={**os.environ, "DATA_FD": str(child)},
        pass_fds=(child, control),
        start_new_session=True,
    )
    os.close(child)
    os.close(control)
    while os.read(data, 1 << 16):
        pass
    assert process.stdout is not None
    printed = process.stdout.read()
    process.stdout.close()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    os.close(data)
    os.close(ours)
    return float(printed), 1e9 * (usage.ru_utime + usage.ru_stime) / steps


def main(turns: int = 11, steps: int = 1000) -> None:
    ratios: dict[str, list[float]] = {name: [] for name in HOOKS}
    own: dict[str, list[float]] = {name: [] for name in HOOKS}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "loop.py")
        script.write_text(SCRIPT)
        for turn in range(turns):
            names = list(HOOKS)[:: -1 if turn % 2 else 1]
            medians = {name: step_ns(script, HOOKS[name], steps, 1_000_000)[0] for name in names}
            used = {name: step_ns(script, HOOKS[name], 100 * steps, 0)[1] for name in names}
            for name in HOOKS:
                ratios[name].append(medians[name] / medians["bare"] - 1)
                own[name].append(used[name] - used["bare"])
    print(f"{turns} turns of {steps} steps of 1 ms; limit {LIMIT:.0%}")
    for name in list(HOOKS)[1:]:
        low, high = median_interval(sorted(ratios[name]))
        print(
            f"{name:10} overhead {statistics.median(ratios[name]):+.3%} "
            f"({low:+.3%} to {high:+.3%}); of the hook alone "
            f"{statistics.median(own[name]) / 1e3:.2f} us a step, "
            f"{statistics.median(own[name]) / 1e6:.3%}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
