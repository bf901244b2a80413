"""Kills of `opperf experiment` at random moments: whether a record is lost or doubled.

Starts experiments of NumPy's operators, each in a process of its own, kills the command and all
that it started after a random time, and resumes it, until it was killed so often. After each kill
the records of the file have to be those of before, and more; in the end there has to be one record
of each planned case.

Run: python benchmarks/experiment_kills.py [KILLS]
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from opperf.results.runfile import read_run

KILLS = 50

OPERATORS = ("exp", "cumsum")

SHORTEST_S, LONGEST_S = 0.3, 6.0
"""Seconds until a kill: during the start, the planning, a case, the writing of a record."""


def command(file: Path, *words: str) -> list[str]:
    """Returns the command of the experiments."""
    own = ["--framework", "numpy", "--size", "small", "-w", "0", "-r", "3", "--cpus", "none"]
    return [sys.executable, "-m", "opperf", "experiment", *words, *own, "-o", str(file)]


def kill(started: subprocess.Popen[bytes]) -> None:
    """Kills a command and all processes that it has started."""
    process = psutil.Process(started.pid)
    children = process.children(recursive=True)
    started.send_signal(signal.SIGKILL)
    for child in children:
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
    started.wait()


def ids(file: Path) -> list[str]:
    """Returns the ids of the whole records in a run file, as they are in it."""
    if not file.is_file():
        return []
    marks = (b'"line":"record"', b'"id":"')
    found = []
    for line in file.read_bytes().split(b"\n")[:-1]:
        if marks[0] in line:
            found.append(line.partition(marks[1])[2].partition(b'"')[0].decode())
    return found


def main(kills: int) -> int:
    """Prints what was lost or doubled; the exit code is 1 if anything was."""
    generator = random.Random(0)
    lost = doubled = done = rounds = 0
    with tempfile.TemporaryDirectory() as folder:
        while done < kills:
            rounds += 1
            file = Path(folder) / f"run{rounds}.jsonl"
            is_finished = False
            while not is_finished:
                before = ids(file)
                words = ["--resume"] if file.is_file() else OPERATORS
                started = subprocess.Popen(
                    command(file, *words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
                try:
                    wait_s = generator.uniform(SHORTEST_S, LONGEST_S)
                    started.wait(wait_s if done < kills else None)
                    is_finished = True
                except subprocess.TimeoutExpired:
                    kill(started)
                    done += 1
                after = ids(file)
                lost += len(set(before) - set(after))
            run, _ = read_run(file)
            planned, records = {case.id for case in run.cases}, [one.id for one in run.records]
            lost += len(planned - set(records))
            doubled += len(records) - len(set(records))
            print(f"run {rounds}: {len(planned)} cases, {len(records)} records", flush=True)
    print(f"{done} kills: {lost} records lost, {doubled} doubled")
    return int(bool(lost or doubled))


if __name__ == "__main__":
    begun = time.monotonic()
    code = main(int(sys.argv[1]) if len(sys.argv) > 1 else KILLS)
    print(f"{time.monotonic() - begun:.0f} s")
    sys.exit(code)
