"""Overhead of opperf per case: its wall time less the time in the operator's own calls.

Runs every small case of MXNet's registry with two calls of warm-up and five timed ones, with memory
and without, the two in turns, and prints for each the mean and the median of wall time less
operator time over all cases that ended ok, beside the target.

Run: python benchmarks/cost/per_case.py [TURNS]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from opperf.model import Status
from opperf.results.runfile import read_run

RUNS = {"with memory": ((), 12.0), "without": (("--no-memory",), 4.0)}
"""Options of each kind of run, and the target in milliseconds."""

COMMON = ("--size", "small", "-w", "2", "-r", "5", "-f", "jsonl", "--quiet", "--overwrite")


def added_ms(path: Path) -> list[float]:
    """Milliseconds that opperf added to each case of a run."""
    records = read_run(path)[0].records
    return [1e3 * (one.wall_s - one.busy_s) for one in records if one.status is Status.OK]


def main(turns: int) -> None:
    added: dict[str, list[float]] = {name: [] for name in RUNS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(turns):
            for name, (options, _) in RUNS.items():
                path = Path(folder) / "run.jsonl"
                command = [sys.executable, "-m", "opperf", "run", *COMMON, *options, "-o", path]
                subprocess.run([*command, "--framework", "mxnet"], check=True)
                added[name] += added_ms(path)
    for name, (_, wanted) in RUNS.items():
        found = added[name]
        print(
            f"{name:12} {len(found)} cases: mean {statistics.fmean(found):.1f} ms, median "
            f"{statistics.median(found):.1f} ms; {wanted:g} ms wanted"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
