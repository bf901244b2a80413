"""Speed-ups of compiled models by `opperf experiment`, beside those of a hand-written loop.

Takes turns, model by model: an experiment in eager and compiled mode, then a loop of each, in
processes of their own. Prints the ratio of the shortest medians of all turns by either, as what
else runs on a machine only adds to a time, and how far they are apart.

Run: python benchmarks/experiment_speedups.py [--filter PATTERN] [--size small] [--turns 5]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from tabulate import tabulate

from opperf.model import Record, Status
from opperf.models.base import models_of
from opperf.results.runfile import read_run

LOOP = """
import statistics, sys, time
import torch
from opperf.models.base import Options, find_suite
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

Times = dict[str, list[float]]


def measured(name: str, size: str, folder: Path) -> tuple[Record, ...]:
    """Returns the records of a model. Raises `CalledProcessError` if it fails."""
    output = folder / "run.jsonl"
    words = [sys.executable, "-m", "opperf", "experiment", f"opperf:{name}", "--framework", "torch"]
    words += ["--mode", "eager,compile", "--threads", "1", "--size", size, "--quiet", "--no-memory"]
    words += ["-o", str(output), "--overwrite"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return tuple(record for record in read_run(output)[0].records if record.status is Status.OK)


def loop_s(name: str, size: str, mode: str) -> float:
    """Returns the median seconds of a forward pass by the loop."""
    words = [sys.executable, "-c", LOOP, name, size, mode]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def speedup(times: dict[str, list[float]]) -> float:
    """Returns the ratio of the shortest times of eager and compiled."""
    return min(times["eager"]) / min(times["compile"])


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--filter", default="")
    parser.add_argument("--size", default="small")
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args()
    rows = []
    names = [model.name for model in models_of("opperf", "torch") if asked.filter in model.name]
    for name in names:
        own: Times = defaultdict(list)
        by_hand: Times = defaultdict(list)
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(asked.turns):
                for record in measured(name, asked.size, Path(folder)):
                    own[record.case.settings.mode].append(record.summaries["forward"].median)
                for mode in own:
                    by_hand[mode].append(loop_s(name, asked.size, mode))
        ours, theirs = speedup(own), speedup(by_hand)
        rows.append([name, ours, theirs, ours / theirs - 1])
        print(f"{name}: {ours / theirs - 1:+.1%}", file=sys.stderr)
    print(
        tabulate(
            rows, ["model", "opperf", "loop", "difference"], floatfmt=("", ".3f", ".3f", "+.1%")
        )
    )


if __name__ == "__main__":
    main()
