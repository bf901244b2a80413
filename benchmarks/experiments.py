"""What `opperf experiment` costs, loses and says, by part:

    isolation  what a process for each experiment costs beside the framework's import
    kills      whether records are lost or doubled when a run is killed at random and resumed
    speedups   the speed-ups of compiled models, beside those of a hand-written loop

Run: python -m benchmarks.experiments PART [--framework NAME] [--filter PATTERN] [--kills 50]
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tabulate import tabulate

from opperf.model import NoteCode, Record, Settings, Status
from opperf.results.runfile import read_run

OPPERF = (sys.executable, "-m", "opperf", "experiment")

SUITE = "opperf"

IMPORTS = 3
"""Imports of the framework alone: the median ignores one that was disturbed."""

KILLED_OPERATORS = "exp,sin,cos"
"""Operators of NumPy, whose experiments take half a second each."""

SHORTEST_S, LONGEST_S = 0.3, 8.0
"""Seconds after which a run is killed: before its first record, or after its last."""

BLOCKS = 6
"""Turns of eager and compiled, by opperf and by hand: a disturbance is that of one turn."""

LOOP_S = 1.0
"""Seconds of a hand-written loop."""


def run(words: list[str], output: Path) -> float:
    """Runs experiments, and returns the seconds that it took. Raises `CalledProcessError`."""
    begun = time.monotonic()
    subprocess.run([*OPPERF, *words, "-f", "jsonl", "-o", str(output), "--quiet"], check=True)
    return time.monotonic() - begun


def isolation(asked: argparse.Namespace, folder: Path) -> None:
    """Prints the seconds of an experiment outside of its case, and those of an import."""
    imports = []
    for _ in range(IMPORTS):
        begun = time.monotonic()
        subprocess.run([sys.executable, "-c", f"import {asked.framework}"], check=True)
        imports.append(time.monotonic() - begun)
    output = folder / "isolation.jsonl"
    wanted = asked.filter or "mlp"
    selected = [SUITE, "-k", wanted, "--size", "small", "--phase", "predict,train"]
    elapsed_s = run([*selected, "--framework", asked.framework, "-r", "3"], output)
    records = read_run(output)[0].records
    inside_s = sum(record.wall_s for record in records)
    each_s = (elapsed_s - inside_s) / len(records)
    import_s = statistics.median(imports)
    rows = [
        ["import", f"{import_s:.2f}", ""],
        ["an experiment without its case", f"{each_s:.2f}", f"{each_s / import_s:.2f}"],
        ["its case", f"{inside_s / len(records):.2f}", ""],
    ]
    print(tabulate(rows, ["", "s", "ratio to the import"]))


def kills(asked: argparse.Namespace, folder: Path) -> None:
    """Kills a run at random, resumes it until it ends, and counts the records of each case. Ends
    with 1 if one is lost or doubled."""
    generator = random.Random(asked.seed)
    output = folder / "killed.jsonl"
    words = [*KILLED_OPERATORS.split(","), "--framework", "numpy", "-w", "1", "-r", "3"]
    command = [*OPPERF, *words, "-f", "jsonl", "-o", str(output), "--quiet"]
    done = 0
    runs = 0
    while done < asked.kills:
        if output.exists():
            output.unlink()
        runs += 1
        while done < asked.kills:
            resuming = ["--resume"] if output.exists() else []
            process = subprocess.Popen(
                [*command, *resuming], start_new_session=True, stderr=subprocess.DEVNULL
            )
            try:
                code = process.wait(generator.uniform(SHORTEST_S, LONGEST_S))
                if code:
                    raise SystemExit(f"{process.args}: exit code {code}")
                break
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                done += 1
        else:
            resuming = ["--resume"] if output.exists() else []
            subprocess.run([*command, *resuming], check=True)
        check_records(output)
    print(f"{done} kills in {runs} runs: no record lost, none doubled")


def check_records(output: Path) -> None:
    """Raises `SystemExit` unless the file has one record of each planned case."""
    found, _ = read_run(output)
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    written = collections.Counter(line["id"] for line in lines if line["line"] == "record")
    planned = {case.id for case in found.cases}
    # A case whose first time was an outlier is measured again, and says so.
    again = {
        record.id
        for record in found.records
        if any(note.code is NoteCode.STALL for note in record.notes)
    }
    if set(written) != planned or any(count > 1 + (id in again) for id, count in written.items()):
        raise SystemExit(f"{output}: {written} of {len(planned)} cases")
    if any(record.status is not Status.OK for record in found.records):
        raise SystemExit(f"{output}: not all ended ok")


def speedups(asked: argparse.Namespace, folder: Path) -> None:
    """Prints the speed-up of compiled models by opperf and by a loop, in turns of each."""
    output = folder / "speedups.jsonl"
    words = ["--framework", "torch", "--mode", "eager,compile", "--size", asked.size]
    selected = [SUITE, *(["-k", asked.filter] if asked.filter else []), *words]
    measured: dict[str, dict[str, list[float]]] = collections.defaultdict(
        lambda: collections.defaultdict(list)
    )
    by_hand: dict[str, dict[str, list[float]]] = collections.defaultdict(
        lambda: collections.defaultdict(list)
    )
    records: tuple[Record, ...] = ()
    for block in range(BLOCKS):
        run([*selected, "--overwrite"], output)
        records = read_run(output)[0].records
        for record in records:
            if record.status is Status.OK:
                settings = record.case.settings
                median = record.summaries["forward"].median
                measured[record.case.label][settings.mode].append(median)
        for record in records:
            case = record.case
            loop_s = _in_process(case.target.name, asked.size, case.settings)
            by_hand[case.label][case.settings.mode].append(loop_s)
        print(f"block {block + 1} of {BLOCKS}", file=sys.stderr)
    rows = []
    for label, modes in measured.items():
        own = statistics.median(modes["eager"]) / statistics.median(modes["compile"])
        hand_modes = by_hand[label]
        hand = statistics.median(hand_modes["eager"]) / statistics.median(hand_modes["compile"])
        rows.append([label, f"{own:.3f}", f"{hand:.3f}", f"{own / hand - 1:+.1%}"])
    print(tabulate(rows, ["model", "opperf", "loop", "difference"]))


LOOP = """
import statistics, sys, time
import torch
from opperf.suites.base import Options, find_suite
name, size, mode, threads = sys.argv[1:]
if threads != "None":
    torch.set_num_threads(int(threads))
model = find_suite("opperf").build("torch", name, Options(size=size))
network = model.call.eval()
call = torch.compile(network, dynamic=False) if mode == "compile" else network
with torch.no_grad():
    for _ in range(10):
        call(*model.inputs)
    times, end = [], time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times) < 5:
        begun = time.perf_counter()
        call(*model.inputs)
        times.append(time.perf_counter() - begun)
print(statistics.median(times))
"""
"""The loop, in a process of its own, as opperf's experiments are."""


def _in_process(name: str, size: str, settings: Settings) -> float:
    """Returns the median seconds of a model's forward pass by a hand-written loop."""
    code = LOOP.replace("SECONDS", str(LOOP_S))
    words = [name, size, settings.mode, str(settings.threads)]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], check=True, capture_output=True, text=True
    )
    return float(done.stdout.split()[-1])


PARTS: dict[str, Callable[[Any, Path], None]] = {
    "isolation": isolation,
    "kills": kills,
    "speedups": speedups,
}


def main() -> None:
    """Prints the figures of a part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--framework", default="torch")
    parser.add_argument("--filter", default="")
    parser.add_argument("--size", default="small")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        PARTS[asked.part](asked, Path(name))


if __name__ == "__main__":
    main()
