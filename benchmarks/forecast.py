"""The forecast of runs against what they take, on the machine as it is and beside busy processes.

Measures a few selections one after the other, first with an empty cache of paces, and prints for
each the forecast before the run, the time that measuring took, and their ratio: the model's, then
that of the earlier run's pace, then that beside busy processes.

Run: python -m benchmarks.forecast [--framework numpy] [--busy 2]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tabulate import tabulate

from benchmarks.busy_ranking import busy_processes
from opperf.execution.forecast import load_paces, total_s
from opperf.machine.core_use import read_gauge
from opperf.results.runfile import read_run
from opperf.results.text import duration

SELECTIONS = (
    ("--category", "unary", "--max-configs", "2"),
    ("--category", "reduction", "--max-configs", "1", "-w", "2", "-r", "20"),
)
"""Options of the runs: one whose cases end as they are precise, and one with fixed counts."""


def measured(framework: str, words: tuple[str, ...], folder: Path) -> tuple[float, float]:
    """Returns the seconds of a run by its forecast, and those that it took."""
    command = [sys.executable, "-m", "opperf", "run", "--framework", framework, *words]
    listed, output = folder / "listed.jsonl", folder / "run.jsonl"
    with listed.open("w") as file:
        subprocess.run([*command, "--list", "-f", "jsonl"], check=True, stdout=file)
    cases = read_run(listed)[0].cases
    forecast = total_s(cases, (), load_paces(framework), read_gauge())
    begun = time.monotonic()
    subprocess.run([*command, "--quiet", "-f", "jsonl", "-o", str(output), "--overwrite"])
    return forecast, time.monotonic() - begun


def main() -> None:
    """Prints a row for each run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--framework", default="numpy", help="framework to measure")
    parser.add_argument("--busy", type=int, default=2, help="number of busy processes")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        # Paces of other runs are left alone.
        os.environ["OPPERF_CACHE"] = os.environ["OPPERF_DATA"] = folder
        for words in SELECTIONS:
            for name, busy in (("first", 0), ("again", 0), ("busy", given.busy), ("after", 0)):
                with busy_processes(busy):
                    forecast, taken = measured(given.framework, words, Path(folder))
                text = " ".join(words)
                ratio = f"{taken / forecast:.2f}"
                rows.append((text, name, duration(forecast), duration(taken), ratio))
                print(rows[-1], file=sys.stderr)
    print(tabulate(rows, headers=("run", "when", "forecast", "took", "took/forecast")))


if __name__ == "__main__":
    main()
