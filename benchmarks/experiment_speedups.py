"""Speed-ups of compiled models by `opperf experiment`, beside those of a hand-written loop.

Takes turns: a run of experiments in eager and compiled mode, then a loop of each, in processes of
their own. Prints the ratio of the medians of all turns by either, and how far they are apart.

Run: python benchmarks/experiment_speedups.py [--filter PATTERN] [--size small] [--turns 5]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from tabulate import tabulate

from opperf.model import Record, Status
from opperf.results.runfile import read_run

LOOP = """
import statistics, sys, time
import torch
from opperf.suites.base import Options, find_suite
name, size, mode = sys.argv[1:]
torch.set_num_threads(1)
model = find_suite("opperf").build("torch", name, Options(size=size))
network = model.call.eval()
call = torch.compile(network, dynamic=False) if mode == "compile" else network
with torch.no_grad():
    for _ in range(10):
        call(*model.inputs)
    times, end = [], time.perf_counter() + 1
    while time.perf_counter() < end or len(times) < 5:
        begun = time.perf_counter()
        call(*model.inputs)
        times.append(time.perf_counter() - begun)
print(statistics.median(times))
"""
"""The loop, of a second."""

Times = dict[str, dict[str, list[float]]]


def measured(size: str, pattern: str, folder: Path) -> tuple[Record, ...]:
    """Returns the records of a run. Raises `CalledProcessError` if it fails."""
    output = folder / "run.jsonl"
    words = [sys.executable, "-m", "opperf", "experiment", "opperf", "--framework", "torch"]
    words += ["--mode", "eager,compile", "--threads", "1", "--size", size, "--quiet", "--no-memory"]
    words += [*(["-k", pattern] if pattern else []), "-o", str(output), "--overwrite"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return tuple(one for one in read_run(output)[0].records if one.status is Status.OK)


def loop_s(name: str, size: str, mode: str) -> float:
    """Returns the median seconds of a forward pass by the loop."""
    words = [sys.executable, "-c", LOOP, name, size, mode]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def speedup(times: dict[str, list[float]]) -> float:
    """Returns the ratio of the medians of eager and compiled."""
    return median(times["eager"]) / median(times["compile"])


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--filter", default="")
    parser.add_argument("--size", default="small")
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args()
    own: Times = defaultdict(lambda: defaultdict(list))
    by_hand: Times = defaultdict(lambda: defaultdict(list))
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(asked.turns):
            for record in measured(asked.size, asked.filter, Path(folder)):
                target, mode = record.case.target, record.case.settings.mode
                name = target.key.name
                own[name][mode].append(record.summaries["forward"].median)
                by_hand[name][mode].append(loop_s(name, asked.size, mode))
            print(f"turn {turn + 1} of {asked.turns}", file=sys.stderr)
    rows = [
        [name, ours := speedup(times), theirs := speedup(by_hand[name]), ours / theirs - 1]
        for name, times in own.items()
    ]
    print(
        tabulate(
            rows, ["model", "opperf", "loop", "difference"], floatfmt=("", ".3f", ".3f", "+.1%")
        )
    )


if __name__ == "__main__":
    main()
