"""Nothing is lost and nothing counted twice, whatever is killed, and whenever."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import psutil
import pytest

from opperf.model import Status
from opperf.results.runfile import read_run

KILLS = 50
"""Random moments, of each kind of process."""

LONGEST_S = 0.8
"""The last moment of a kill, after the start of a process or of its measuring: most of the time
that a run of the fake's cases takes."""

FEW = 5
"""Of the kills, how many hit a run that has begun, at least, however fast the machine is."""

NAMES = ("relu", "rounded", "negative", "with_workspace", "dropout", "add", "add_n", "copyto")
ARGUMENTS = ("--framework", "fake", "--size", "small", "-r", "10000", "-w", "0", "--shuffle")


@pytest.fixture
def start(variables, tmp_path):
    """Start a run into a file, or go on with the one that is there."""

    def started(path, *more):
        again = ("--resume", str(path)) if path.exists() and path.stat().st_size else ()
        new = () if again else (*NAMES, *ARGUMENTS, "-f", "jsonl", "-o", str(path))
        return subprocess.Popen(
            [sys.executable, "-m", "opperf", "run", *new, *again, *more, "--quiet"],
            env=variables,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    return started


def ids_in(path):
    """Ids of the records on whole lines of a run file, as often as they are there."""
    lines = path.read_bytes().split(b"\n")[1:-1]
    return Counter(
        line["record"]["id"] for line in map(json.loads, lines) if line["line"] == "record"
    )


def wait_until_measuring(process, path):
    """Wait until a process has begun to measure into a run file, or is done."""
    before = path.stat().st_size if path.exists() else 0
    while process.poll() is None:
        if path.exists() and path.stat().st_size > before:
            return
        time.sleep(0.001)


def check(path):
    """Every planned case has one record, and no case has two."""
    run, warnings = read_run(path)
    assert warnings == [] and run.closing is not None
    assert sorted(record.id for record in run.records) == sorted(run.header.planned)
    assert set(ids_in(path).values()) == {1}
    return run


def test_the_manager_is_killed_at_random_moments(start, tmp_path):
    moments, number, cut_short = random.Random(7), 0, 0
    path = tmp_path / "run0.jsonl"
    for kill in range(KILLS):
        process = start(path)
        if kill % 2:
            wait_until_measuring(process, path)
        try:
            _, err = process.communicate(timeout=moments.uniform(0.0, LONGEST_S))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            cut_short += path.exists() and sum(ids_in(path).values()) > 0
        else:
            assert process.returncode == 0, err
            check(path)
            number += 1
            path = tmp_path / f"run{number}.jsonl"
    with start(path) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert all(record.status is Status.OK for record in check(path).records)
    assert cut_short >= FEW, "the moments are to be those of runs, not of their starts"


def worker_of(process):
    """The worker of a manager, once there is one; None when the manager is done."""
    while process.poll() is None:
        try:
            for child in psutil.Process(process.pid).children():
                if "opperf.runner.worker" in child.cmdline():
                    return child
        except psutil.Error:
            continue
        time.sleep(0.001)
    return None


def test_the_worker_is_killed_at_random_moments(start, tmp_path):
    moments, kills, crashed = random.Random(11), 0, 0
    while kills < KILLS:
        path = tmp_path / f"run{kills}.jsonl"
        process = start(path)
        while process.poll() is None and kills < KILLS:
            # All but a few once it measures; those few as soon as it is there, while it starts.
            if kills % 5:
                wait_until_measuring(process, path)
            worker = worker_of(process)
            time.sleep(moments.uniform(0.0, LONGEST_S / 4))
            if worker is not None and worker.is_running() and path.exists():
                os.kill(worker.pid, signal.SIGKILL)
                kills += 1
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        run = check(path)
        lost = [record for record in run.records if record.status is not Status.OK]
        assert all("SIGKILL" in record.reason for record in lost)
        crashed += len(lost)
        with start(path, "--retry", "crashed") as process:
            _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        again, _ = read_run(path)
        assert [record.status for record in again.records] == [Status.OK] * len(run.records)
        tried = {record.id for record in lost}
        assert all(count == 1 + (one in tried) for one, count in ids_in(path).items())
    assert crashed >= FEW, "the moments are to be those of cases, not of starts"
