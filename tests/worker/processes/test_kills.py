"""Nothing is lost and nothing counted twice, whatever is killed, and whenever."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from itertools import count

import pytest
from moments import Moments

from opperf.model import Status
from opperf.results.runfile import read_run

KILLS = [slice(0, 4), pytest.param(slice(4, 20), marks=pytest.mark.sweep)]
"""Which of the random moments, of each kind of process: the sweep has those that are left."""

WAIT_S = 300
"""How long a run may take on a busy machine."""

NAMES = ("relu", "rounded", "negative", "with_workspace", "dropout", "add", "add_n", "copyto")
ARGUMENTS = ("--framework", "fake", "--size", "small", "-r", "100", "-w", "0", "--shuffle")


@pytest.fixture
def start(variables, tmp_path):
    """Start a run into a file, or go on with the one that is there."""

    def started(path="counted.jsonl", *more, variables=variables):
        there = tmp_path / path
        again = ("--resume", path) if there.exists() and there.stat().st_size else ()
        new = () if again else (*NAMES, *ARGUMENTS, "-f", "jsonl", "-o", path)
        return subprocess.Popen(
            [sys.executable, "-m", "opperf", "run", *new, *again, *more, "--quiet"],
            env=os.environ | variables,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    return started


def ended(process):
    """The exit code of a process, and what it said."""
    with process:
        _, err = process.communicate(timeout=WAIT_S)
    return process.returncode, err


def ids_in(path):
    """Ids of the records on whole lines of a run file, as often as they are there."""
    lines = path.read_bytes().split(b"\n")[1:-1] if path.exists() else ()
    return Counter(line["id"] for line in map(json.loads, lines) if line["line"] == "record")


def check(path):
    """Every planned case has one record, and no case has two."""
    run, warnings = read_run(path)
    assert warnings == [] and run.closing is not None
    assert sorted(record.id for record in run.records) == sorted(run.planned)
    assert set(ids_in(path).values()) == {1}
    return run


@pytest.mark.parametrize("kills", KILLS, ids=str)
def test_the_manager_is_killed_at_random_moments(start, tmp_path, kills):
    moments = Moments("manager", tmp_path, start)
    names = (f"run{number}.jsonl" for number in count())
    name, cut_short = next(names), 0
    drawn = moments.drawn(kills, seed=7)
    for moment in drawn:
        before = ids_in(tmp_path / name)
        moments.ask(signal.SIGKILL, moment)
        code, err = ended(moments.start(name))
        assert moments.came and code in (0, -signal.SIGKILL), err
        if code:
            # What was on file stays, whatever came behind it.
            assert before <= ids_in(tmp_path / name)
            cut_short += bool(ids_in(tmp_path / name))
        else:
            check(tmp_path / name)
            name = next(names)
    code, err = ended(start(name))
    assert code == 0, err
    assert all(record.status is Status.OK for record in check(tmp_path / name).records)
    # Every other moment is between two records, of a run that has that many left.
    assert cut_short >= len(drawn) / 4


@pytest.mark.parametrize("kills", KILLS, ids=str)
def test_the_worker_is_killed_at_random_moments(start, tmp_path, kills):
    moments, crashed = Moments("worker", tmp_path, start), 0
    drawn = moments.drawn(kills, seed=11)
    for number, moment in enumerate(drawn):
        name = f"run{number}.jsonl"
        moments.ask(signal.SIGKILL, moment)
        code, err = ended(moments.start(name))
        assert moments.came
        if "ended while planning" in err:
            # Nothing was begun.
            assert code == 3 and not (tmp_path / name).exists()
            continue
        assert code == 0, err
        run = check(tmp_path / name)
        lost = [record for record in run.records if record.status is not Status.OK]
        assert all("SIGKILL" in record.reason for record in lost) and len(lost) <= 1
        crashed += len(lost)
        if lost:
            code, err = ended(start(name, "--retry", "crashed"))
            assert code == 0, err
            again, _ = read_run(tmp_path / name)
            assert {record.status for record in again.records} == {Status.OK}
            tried = {record.id for record in lost}
            counted = ids_in(tmp_path / name).items()
            assert all(times == 1 + (one in tried) for one, times in counted)
    assert crashed >= len(drawn) / 4
