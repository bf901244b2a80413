"""Time of adding a run to a history, and of `history check` of a whole one, in each kind of store.

A check is a process, as a CI runs it, with its imports and a first report; an addition is that of
the store, after reading the file. A server of PostgreSQL is started for this, where Debian has one;
run as root, it is the user postgres'. Ends with 1 if a target is missed, which is of the default
numbers on a free machine.
Run: python -m benchmarks.history.store [--series 5000] [--commits 1000] [--records 1000]
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.history.serving import fill, make_run
from opperf.history.checking import check_history
from opperf.history.detection.findings import Rate
from opperf.history.store.adding import add_runs
from opperf.history.store.events import update_events
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project
from opperf.history.timelines import read_history

SERIES, COMMITS, RECORDS = 5000, 1000, 1000

ADD_SECONDS, CHECK_SECONDS = 1.0, 10.0
"""Targets: of adding the records of a run, and of a check."""

ADDED = 5
"""Runs that are added, of whose times the median counts."""

SERVER = Path("/usr/lib/postgresql")
"""Where Debian has the programs of a server."""


@contextmanager
def postgresql() -> Iterator[str]:
    """Yields the URL of an empty database of a server of its own; an empty one where none is
    installed, or no user may run one."""
    programs = sorted(SERVER.glob("*/bin"))
    is_root = os.getuid() == 0
    if not programs or (is_root and shutil.which("runuser") is None):
        yield ""
        return
    # Not in a folder that only its owner may enter: the server is another user's.
    folder = Path(tempfile.mkdtemp(prefix="opperf-server-"))
    if is_root:
        shutil.chown(folder, "postgres")
    as_user = ["runuser", "-u", "postgres", "--"] if is_root else []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def call(program: str, *words: str) -> None:
        command = [*as_user, str(programs[-1] / program), "-D", str(folder / "data"), *words]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)

    call("initdb", "-A", "trust", "-U", "perf", "--no-sync")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    call("pg_ctl", "-o", options, "-l", str(folder / "log"), "-w", "start")
    try:
        yield f"postgresql://perf@127.0.0.1:{port}/postgres"
    finally:
        call("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder)


def time_adding(name: str, commits: int, records: int) -> float:
    """Returns the median of the seconds that adding a run takes, of the store alone."""
    times = []
    with Store(name) as store:
        for number in range(commits + 1, commits + 1 + ADDED):
            run = make_run(number, records)
            begin = time.perf_counter()
            add_runs(store, "p", [run])
            times.append(time.perf_counter() - begin)
    return statistics.median(times)


def time_check(name: str) -> float:
    """Returns the seconds of a process of `history check`, the first, which stores its events."""
    words = ["history", "check", "--store", name, "--fail-on", "nothing"]
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "opperf", *words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def time_parts(name: str) -> dict[str, float]:
    """Returns the seconds of the parts of a check, in this process: of a store that was checked,
    so that what is stored are no new events."""
    times = {}
    with Store(name, must_exist=True) as store:
        project = find_project(store)
        begin = time.perf_counter()
        history = read_history(store, project)
        times["reading"] = time.perf_counter() - begin
        begin = time.perf_counter()
        checked = check_history(history, "main", Rate(), "likelihood")
        times["detection"] = time.perf_counter() - begin
        begin = time.perf_counter()
        update_events(store, project, "main", checked.updates)
        times["writing"] = time.perf_counter() - begin
    return times


def show(kind: str, name: str, options: argparse.Namespace) -> bool:
    """Prints the times of a store; whether they are within the targets."""
    begin = time.perf_counter()
    fill(name, options.series, options.commits)
    filled = time.perf_counter() - begin
    before = os.times()
    check = time_check(name)
    after = os.times()
    processor = sum(after[2:4]) - sum(before[2:4])
    parts = ", ".join(f"{part} {seconds:.1f} s" for part, seconds in time_parts(name).items())
    add = time_adding(name, options.commits, options.records)
    print(
        f"{kind:10} {add:12.2f} {check:12.1f} {filled:12.1f}   load {os.getloadavg()[0]:.1f} on "
        f"{os.cpu_count()} cores\n"
        f"{'':10} of the check: {processor:.1f} s of processor time; again, by parts: {parts}",
        flush=True,
    )
    return add <= ADD_SECONDS and check <= CHECK_SECONDS


def main() -> int:
    """Prints a row for each store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=SERIES)
    parser.add_argument("--commits", type=int, default=COMMITS)
    parser.add_argument("--records", type=int, default=RECORDS, help="of the run that is added")
    options = parser.parse_args()
    print(f"{options.series} series of {options.commits} points; {options.records} records added")
    print(f"{'store':10} {'add, s':>12} {'check, s':>12} {'filling, s':>12}")
    with tempfile.TemporaryDirectory() as folder:
        is_met = show("SQLite", str(Path(folder) / "history.sqlite"), options)
    with postgresql() as url:
        if url:
            is_met = show("PostgreSQL", url, options) and is_met
        else:
            print("PostgreSQL  no server is installed that this user may run")
    if not is_met:
        print(f"MISSED: {ADD_SECONDS:.0f} s to add, {CHECK_SECONDS:.0f} s to check")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
