"""What `opperf ab --gate` misses, and what it saves.

First, functions that take longer in B with the same instructions, or nearly: caches, subnormal
numbers, alignment, waiting; and one with a twentieth more instructions. Prints
what the counts say of each, the ratio of its times by calls that alternate, and what `ab --gate`
says of it, with and without a sample of what counts call the same.

Then the seconds of a session of ten operators of MXNet, one of which computes a tenth more rows in
B, with `--gate` and without.

Run: python -m benchmarks.gate_misses [functions | operators]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.ab_on_mxnet import PLANS, SLOWED

HERE = Path(__file__).resolve().parent / "same_instructions"
FILE = HERE / "kinds.py"

KINDS = ("cache_misses", "subnormal_numbers", "alignment", "waiting", "more_work")

ROUNDS = 40
"""Of calls in either process, one after the other."""

LOOP = """
import json, statistics, sys, time
import numpy as np
import kinds
x = np.ones(2, np.float32)
for line in sys.stdin:
    function = getattr(kinds, line.strip())
    function(x)
    times = []
    for _ in range(20):
        begun = time.perf_counter()
        function(x)
        times.append(time.perf_counter() - begun)
    print(statistics.median(times), flush=True)
"""


def time_ratios() -> dict[str, float]:
    """Returns the times of B over those of A, by kind."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "MISSED": missed, "PYTHONPATH": str(HERE)},
        )
        for missed in "01"
    ]
    found = {}
    for kind in KINDS:
        ratios = []
        for _ in range(ROUNDS):
            taken = []
            for process in processes:
                assert process.stdin is not None and process.stdout is not None
                print(kind, file=process.stdin, flush=True)
                taken.append(float(process.stdout.readline()))
            ratios.append(taken[1] / taken[0])
        found[kind] = median(ratios)
    for process in processes:
        process.kill()
        process.wait()
    return found


def session(words: list[str]) -> tuple[dict[str, Any], float]:
    """Returns the report of a session, and its seconds."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        done = subprocess.run(
            [
                *(sys.executable, "-m", "opperf", "ab", *words, "--format", "json", "--quiet"),
                *("--report", str(Path(folder) / "ab.jsonl")),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
    if not done.stdout:
        raise SystemExit(f"opperf ab ended with exit code {done.returncode}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report, time.monotonic() - begun


def show_functions() -> None:
    ratios = time_ratios()
    words = [
        *(word for kind in KINDS for word in ("--ops", f"{FILE}:{kind}")),
        *("--framework", "numpy", "--inputs", f"{FILE}:inputs", "--threads", "1"),
        *("--a", "env:MISSED=0", "--b", "env:MISSED=1", "--gate", "--gate-sample"),
    ]
    found: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    for sample in ("0%", "100%"):
        report, seconds = session([*words, sample])
        print(f"--gate-sample {sample}: {seconds:.0f} s")
        for row in report["rows"]:
            kind = row["operator"].rpartition(":")[2]
            found[kind][sample] = row["verdict"]
            found[kind]["basis"] = row["basis"].partition(",")[0]
    print(f"{'function':20}{'instructions':44}{'time B/A':>9}  {'without':19}{'with all timed'}")
    for kind in KINDS:
        one = found[kind]
        print(
            f"{kind:20}{one.get('basis', ''):44}{ratios[kind]:9.2f}  "
            f"{one.get('0%', ''):19}{one.get('100%', '')}"
        )


def show_operators() -> None:
    path = os.pathsep.join([str(SLOWED), *filter(None, [os.environ.get("PYTHONPATH")])])
    words = [
        *(*PLANS["ten"].chosen, "--framework", "mxnet", "--size", "small", "--max-configs", "1"),
        *("--no-backward", "--threads", "1"),
        *(word for arm in "ab" for word in (f"--{arm}", f"env:PYTHONPATH={path}")),
        *("--a", "env:SLOWED=tanh=0", "--b", "env:SLOWED=tanh=0.1"),
    ]
    for more in ([], ["--gate"]):
        report, seconds = session([*words, *more])
        verdicts = ", ".join(f"{number} {name}" for name, number in report["counts"].items())
        print(f"{' '.join(more) or 'all timed':12}{seconds:7.0f} s  {verdicts}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("part", nargs="?", choices=("functions", "operators"))
    part = parser.parse_args().part
    if part != "operators":
        show_functions()
    if part != "functions":
        show_operators()


if __name__ == "__main__":
    main()
