"""Whether a ranking beside busy processes names operators that do not belong there, without a mark.

Measures a recording, such as a log of operator inputs, twice on the machine as it is, of which the
shorter time of each operator counts, and then several times beside busy processes. An operator is
wrong in the ten with the most time if it has a hundredth of the time of all calls or more, and
takes over twice the time that it took without them, which would not be enough for the ten there.
Prints for each run the wrong ones, those of them that no mark shows to be uncertain, the marked
ones of the ten, and the longest factor of an operator whose time has no mark.

Run: python -m benchmarks.inputs.busy_ranking FILE [--busy 2,4] [--runs 10] [OPTION of `run`]...
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate

from opperf.reports.hotspots.data import Hotspot, find_hotspots
from opperf.results.runfile import read_run

TOP = 10
"""Operators at the top of a ranking: those that are shown after a run."""

LONGER = 2.0
"""Factor of its time from which an operator is out of place: a busy process on each core takes half
of all operators' time alike, which changes no order."""

NOTABLE = 0.01
"""Least share of the time of all calls of an operator that somebody would improve."""

QUIET_RUNS = 2
"""Runs without busy processes: one of them may have been disturbed by something else."""

BUSY = "while True: pass"


class Found(NamedTuple):
    """A ranking beside busy processes."""

    wrong: list[str]
    unmarked: list[str]
    """Those of the wrong ones without a mark."""
    marked: int
    """Operators of the ten with a mark."""
    factor: float
    """Largest ratio of a time of the ten without a mark to the time without busy processes."""


@contextmanager
def busy_processes(number: int) -> Iterator[None]:
    """Keeps so many processes busy, each on one core at a time."""
    running = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(number)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def measured(recording: Path, output: Path, options: list[str]) -> tuple[Hotspot, ...]:
    """Measures a recording, and returns its ranking."""
    command = [sys.executable, "-m", "opperf", "run", str(recording), "--quick", *options]
    subprocess.run(
        [*command, "--quiet", "-f", "jsonl", "-o", str(output), "--overwrite"], check=True
    )
    return find_hotspots([read_run(output)[0]]).rows


def compare(times: dict[str, float], busy: tuple[Hotspot, ...]) -> Found:
    """Returns what is wrong in the ranking beside busy processes. `times` are those without them,
    by operator."""
    least = sorted(times.values(), reverse=True)[:TOP][-1]
    wrong, factor = [], 0.0
    for one in busy[:TOP]:
        before = times.get(one.name, 0.0)
        if one.share >= NOTABLE and before < least and one.time.value > LONGER * before:
            wrong.append(one)
        if before and not one.time.is_uncertain:
            factor = max(factor, one.time.value / before)
    return Found(
        [one.name for one in wrong],
        [one.name for one in wrong if not one.time.is_uncertain],
        sum(one.time.is_uncertain for one in busy[:TOP]),
        factor,
    )


def main() -> None:
    """Prints what is wrong in each run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recording", type=Path, help="file that opperf run measures")
    parser.add_argument("--busy", default="2,4", help="numbers of busy processes")
    parser.add_argument("--runs", type=int, default=10, help="runs beside each number of them")
    given, options = parser.parse_known_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run.jsonl"
        times: dict[str, float] = {}
        for _ in range(QUIET_RUNS):
            for one in measured(given.recording, output, options):
                times[one.name] = min(one.time.value, times.get(one.name, one.time.value))
        for number in map(int, given.busy.split(",")):
            for run in range(1, given.runs + 1):
                with busy_processes(number):
                    found = compare(times, measured(given.recording, output, options))
                rows.append(
                    (number, run, len(found.wrong), found.marked, found.factor)
                    + (", ".join(found.unmarked) or "none",)
                )
                print(f"{number} busy, run {run}: {found}", file=sys.stderr, flush=True)
    headers = ["busy", "run", "wrong", "marked of ten", "unmarked factor", "wrong without a mark"]
    print(tabulate(rows, headers, floatfmt=".1f"))
    unmarked = sum(row[-1] != "none" for row in rows)
    print(f"{unmarked} of {len(rows)} runs have an operator wrongly in the first ten, unmarked")


if __name__ == "__main__":
    main()
