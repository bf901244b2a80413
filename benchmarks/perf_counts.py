"""perf's count of the time on cores beside the wall-clock time of the same calls.

Measures functions of NumPy, whose calls take from a microsecond to milliseconds, with one thread
and under `perf stat`. A ratio of 1 says that perf counts the calls and nothing else: neither the
import nor the commands that begin and end its counting. Waits for a core lower it, as perf does not
count them, and the loop around the calls adds some 50 ns to each.

Run: python -m benchmarks.perf_counts
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from opperf.model import Record
from opperf.results.runfile import read_run

OPERATORS = ("negative", "exp", "add", "cumsum", "matmul", "sort")


def ratios(records: Iterable[Record]) -> Iterator[tuple[str, float, float]]:
    """Yields the label of each case, its shortest wall-clock time in nanoseconds, and perf's count
    over it."""
    for record in records:
        if {"forward", "perf_task_clock"} <= record.summaries.keys():
            wall_ns = record.summaries["forward"].min
            yield record.case.label, wall_ns, record.summaries["perf_task_clock"].median / wall_ns


def main() -> None:
    """Measures, and prints a line for each case and the median."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        for size in ("small", "default"):
            command = [sys.executable, "-m", "opperf", "run", *OPERATORS, "--framework", "numpy"]
            command += ["--size", size, "--max-configs", "1", "--threads", "1", "--quiet"]
            command += ["--batch-cmd", "perf stat", "-o", str(path), "--overwrite"]
            subprocess.run(command, check=True)
            found = list(ratios(read_run(path)[0].records))
            for label, wall_ns, ratio in found:
                print(f"{size:8} {label:10} {wall_ns / 1e3:10.2f} us  perf/wall {ratio:.3f}")
            print(f"{size:8} median {statistics.median(ratio for *_, ratio in found):.3f}")


if __name__ == "__main__":
    main()
