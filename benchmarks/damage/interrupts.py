"""Time from Ctrl-C, or from SIGTERM, until opperf and all processes that it has started have
ended.

With MXNet, at every kind of moment: while it is imported, in the middle of a long kernel, between
short cases, in `opperf list` and in `opperf coverage`. Prints the median and the longest of each,
and whether a process was left. Run: python benchmarks/damage/interrupts.py
"""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from os import environ
from pathlib import Path

import psutil

TURNS = 5
"""Ends of each kind; the median of five ignores a disturbed one."""

WAIT_S = 120.0
"""Longest wait for a moment or an end, on a busy machine."""

SHORT = ("run", "--category", "unary", "--size", "small", "-w", "0", "-r", "5", "-o", "run.jsonl",
         "-f", "jsonl", "--quiet")  # fmt: skip
LONG = ("run", "_linalg_syevd", "--shape", "A=2048x2048", "-w", "0", "-r", "100", "-o",
        "run.jsonl", "-f", "jsonl", "--quiet")  # fmt: skip
"""The eigenvalues of this matrix take a second or more."""


def imports(process: psutil.Process, folder: Path) -> bool:
    """Whether a worker has begun to import MXNet."""
    return any("libmxnet" in m.path for c in process.children() for m in c.memory_maps())


def measures(process: psutil.Process, folder: Path) -> bool:
    """Whether there are records."""
    return any(b'"line":"record"' in path.read_bytes() for path in folder.rglob("*.jsonl"))


def is_in_kernel(process: psutil.Process, folder: Path) -> bool:
    """Whether the worker has worked on the first case for a second."""
    if not (folder / "run.jsonl").exists():
        return False
    time.sleep(1.0)
    return True


@dataclass(frozen=True)
class Moment:
    """When a process is ended."""

    name: str
    arguments: tuple[str, ...]
    has_come: Callable[[psutil.Process, Path], bool]
    number: signal.Signals = signal.SIGINT


MOMENTS = (
    Moment("run, MXNet is imported", SHORT, imports),
    Moment("run, a long kernel", LONG, is_in_kernel),
    Moment("run, short cases", SHORT, measures),
    Moment("list, MXNet is imported", ("list",), imports),
    Moment("coverage, short cases", ("coverage", "--quiet"), measures),
    Moment("run, SIGTERM, short cases", SHORT, measures, signal.SIGTERM),
    Moment("run, SIGTERM, a long kernel", LONG, is_in_kernel, signal.SIGTERM),
)


def runs(process: psutil.Process) -> bool:
    """Whether a process has not ended; one that waits for its parent to ask for its exit code
    has."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def ended_s(moment: Moment) -> tuple[float, int, int]:
    """Returns the seconds until all have ended, the exit code, and the number of processes left."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        process = subprocess.Popen(
            [sys.executable, "-m", "opperf", *moment.arguments],
            cwd=folder,
            env=environ | {"XDG_CACHE_HOME": str(folder / "cache")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        manager = psutil.Process(process.pid)
        deadline = time.monotonic() + WAIT_S
        while not moment.has_come(manager, folder):
            assert process.poll() is None and time.monotonic() < deadline, moment
            time.sleep(0.01)
        started = manager.children(recursive=True)
        begun = time.perf_counter()
        process.send_signal(moment.number)
        code = process.wait(WAIT_S)
        while (left := sum(map(runs, started))) and time.perf_counter() - begun < WAIT_S:
            time.sleep(0.001)
        return time.perf_counter() - begun, code, left


def main() -> None:
    """Print a line for each moment."""
    for moment in MOMENTS:
        times, codes, left = zip(*(ended_s(moment) for _ in range(TURNS)), strict=True)
        print(
            f"{moment.name:28} {statistics.median(times):5.2f} s, longest {max(times):5.2f} s, "
            f"exit {sorted(set(codes))}, {sum(left)} processes left",
            flush=True,
        )


if __name__ == "__main__":
    main()
