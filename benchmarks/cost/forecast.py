"""The forecast of runs against what they take, on the machine as it is and beside busy processes.

Measures selections of operators one after the other, each group first with an empty cache of paces,
and prints for each run the forecast that it shows first, how long it took from then on, and the
ratio of the two. The first group is one selection: for the first time, again, beside busy
processes, and after them. In the second, a case of a short run stalls: its process is stopped for
as long as a swapping machine is; the same run follows, and one of other operators. In the third, a
long run follows a short one; in the fourth, one of a few calls comes before one to a precision.

Run: python -m benchmarks.cost.forecast [--framework numpy] [--busy N]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import psutil
from tabulate import tabulate

from benchmarks.inputs.busy_ranking import busy_processes
from opperf.execution.forecast import Seconds, seconds_of
from opperf.execution.paces import load_learnt
from opperf.machine.core_use import read_gauge
from opperf.results.runfile import read_run
from opperf.results.text import duration

COUNTED = ("--category", "reduction", "--max-configs", "1", "-w", "2", "-r", "20")
SHORT = ("--category", "unary", "--max-configs", "1", "--size", "small")
OTHERS = ("--category", "reduction", "--max-configs", "1", "--size", "small")
LONG = ("--size", "small")
QUICK = ("--quick", "--size", "small", "--max-configs", "2")

STALL_S = 60.0
"""Seconds that a worker is stopped: twenty times as long as the whole short run takes."""


class Planned(NamedTuple):
    """A run to measure."""

    when: str
    words: tuple[str, ...]
    busy: bool = False
    """Whether processes are busy on all cores meanwhile."""
    stalls: bool = False
    """Whether a case stalls."""


GROUPS = (
    *(
        tuple(
            Planned(when, words, busy=when == "busy")
            for when in ("first", "again", "busy", "after busy")
        )
        for words in (SHORT, COUNTED)
    ),
    (
        Planned("stalled", SHORT, stalls=True),
        Planned("after stalled", SHORT),
        Planned("others after stalled", OTHERS),
    ),
    (Planned("short", SHORT), Planned("long after short", LONG)),
    (Planned("few calls", QUICK), Planned("to a precision, after", LONG)),
)
"""Runs by the cache of paces that they share, which is empty before the first one."""


def stop_a_worker(process: subprocess.Popen[bytes], output: Path) -> None:
    """Stops the processes that a run has started, once its file has records, for a while."""
    while process.poll() is None:
        if output.is_file() and len(read_run(output)[0].records) > 1:
            break
        time.sleep(0.05)
    stopped = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    for one in stopped:
        one.suspend()
    time.sleep(STALL_S if stopped else 0.0)
    for one in stopped:
        one.resume()


def measured(framework: str, planned: Planned, folder: Path) -> tuple[Seconds, float]:
    """Returns the forecast of a run, and the seconds that it took after it was made."""
    command = [sys.executable, "-m", "opperf", "run", "--framework", framework, *planned.words]
    listed, output = folder / "listed.jsonl", folder / "run.jsonl"
    with listed.open("w") as file:
        subprocess.run([*command, "--list", "-f", "jsonl"], check=True, stdout=file)
    cases = read_run(listed)[0].cases
    forecast = seconds_of(cases, (), load_learnt(framework), read_gauge())
    output.unlink(missing_ok=True)
    options = ["-f", "jsonl", "-o", str(output)]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=log) as process,
    ):
        assert process.stdout is not None
        # Its first line has the number of cases, and the forecast follows.
        process.stdout.readline()
        begun = time.monotonic()
        if planned.stalls:
            stopping = threading.Thread(target=stop_a_worker, args=(process, output))
            stopping.start()
        process.stdout.read()
    return forecast, time.monotonic() - begun


def main() -> None:
    """Prints a row for each run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--framework", default="numpy", help="framework to measure")
    parser.add_argument(
        "--busy", type=int, default=os.cpu_count(), help="number of busy processes, one a core"
    )
    given = parser.parse_args()
    rows = []
    for group in GROUPS:
        with tempfile.TemporaryDirectory() as folder:
            # Paces of other runs are left alone.
            os.environ["OPPERF_CACHE"] = os.environ["OPPERF_DATA"] = folder
            os.environ["PYTHONUNBUFFERED"] = "1"
            for planned in group:
                with busy_processes(given.busy if planned.busy else 0):
                    seconds, taken = measured(given.framework, planned, Path(folder))
                shown = map(duration, (seconds.least, seconds.expected, seconds.most))
                ratio = f"{seconds.expected / taken:.2f}"
                row = (" ".join(planned.words), planned.when, *shown, duration(taken), ratio)
                print(row, file=sys.stderr, flush=True)
                rows.append(row)
    headers = ("run", "when", "from", "forecast", "up to", "took", "forecast/took")
    print(tabulate(rows, headers=headers))


if __name__ == "__main__":
    main()
