"""What every executor is held to: the local one with one and several lanes, one in this process,
and that of another package, for which the toy stands."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.execution.execute import NoFile, Rounds, execute
from opperf.execution.executor import InProcess, Task, check_executor, open_executor
from opperf.execution.progress import Progress
from opperf.execution.workers import Lanes, Workers
from opperf.machine.pinning import NONE, Pinning
from opperf.model import Status
from opperf.results.runfile import read_run

TOY = Path(__file__).parents[1] / "toy_executor"
ROOT = Path(__file__).parents[2]

NAMES = ("relu", "negative", "relu", "negative", "refuses")


@pytest.fixture
def cases(make_case):
    """Cases of which the last one is refused."""
    return tuple(make_case(name, shape=(4, number + 1)) for number, name in enumerate(NAMES))


@pytest.fixture(params=["local", "lanes", "in_process", "toy"])
def executor(request, cases, fake, variables, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if request.param == "in_process":
        yield InProcess({"fake": fake})
    elif request.param == "toy":
        # Not by the path of imports, where every later test would find it as an installed one.
        opened = runpy.run_path(str(TOY / "toy_executor.py"))["open_toy"]
        with opened(Task(cases)) as made:
            yield made
    elif request.param == "lanes":
        with Lanes(Workers(), Pinning(NONE), 2) as made:
            yield made
    else:
        task, pinning = Task(cases), Pinning(NONE)
        with Workers() as workers, open_executor("local", task, workers, pinning) as made:
            yield made


def test_it_measures_every_case_once_and_says_where(executor, cases):
    schedule, stored = Rounds(cases), []

    class Stored(NoFile):
        def environment(self, case, environment):
            stored.append((case.id, environment.framework))
            return environment.id

    execute(schedule, executor, Stored(), Progress())
    assert schedule.records.keys() == {case.id for case in cases}
    *measured, refused = (schedule.records[case.id] for case in cases)
    assert all(record.status is Status.OK and record.environment for record in measured)
    assert all(record.case == case for record, case in zip(measured, cases, strict=False))
    assert refused.status is Status.FAILED and "shapes do not match" in refused.reason
    assert {id for id, _ in stored} == schedule.records.keys()
    assert {framework for _, framework in stored} == {"fake"}


def test_an_error_ends_it_and_loses_no_earlier_record(executor, cases):
    class Full(NoFile):
        def record(self, record):
            if len(schedule.records) == 2:
                raise KeyboardInterrupt

    schedule = Rounds(cases)
    with pytest.raises(KeyboardInterrupt):
        execute(schedule, executor, Full(), Progress())
    assert 2 <= len(schedule.records) < len(cases)


@pytest.fixture
def opperf(tmp_path):
    """opperf in a folder of its own, as if the toy's package were installed."""
    path = os.pathsep.join([str(TOY), str(ROOT), os.environ.get("PYTHONPATH", "")])
    variables = os.environ | {"PYTHONPATH": path.strip(os.pathsep), "HOME": str(tmp_path)}

    def called(*words):
        command = [sys.executable, "-m", "opperf", "run", "add", "exp", "--framework", "numpy"]
        command += ["--size", "small", "-w", "0", "-r", "2", "--max-configs", "2", *words]
        return subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )

    return called


def test_one_of_another_package_is_chosen_by_its_name(opperf, tmp_path):
    done = opperf("--executor", "toy", "-o", "toy.jsonl")
    assert done.returncode == 0, done.stderr
    assert "executor toy" in done.stdout
    run, _ = read_run(tmp_path / "toy.jsonl")
    assert len(run.records) == 4 and run.closing.counts == {"ok": 4}


def test_one_that_is_not_there_is_refused_before_anything_is_measured(opperf, tmp_path):
    for name, why in (
        ("tyo", "unknown executor 'tyo'; did you mean toy?"),
        ("broken", "toy_executor:NUMBER, an entry point of the group opperf.executors, is not a"),
    ):
        done = opperf("--executor", name, "-o", "no.jsonl")
        assert done.returncode == 2 and why in done.stderr and "\n" not in done.stderr.strip()
        assert not (tmp_path / "no.jsonl").exists()
    with pytest.raises(UsageError, match="unknown executor 'dask'"):
        check_executor("dask")
