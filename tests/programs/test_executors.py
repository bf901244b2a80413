"""Programs beside operators: every executor of this machine runs them, and files keep them."""

import sys

import pytest

from opperf.errors import WorkerError
from opperf.execution.execute import execute_to_file
from opperf.execution.executor import ISOLATED, LOCAL, Task, open_executor
from opperf.execution.progress import Progress
from opperf.execution.workers import Workers
from opperf.formats.milabench.streams import read_stream
from opperf.machine.pinning import NONE, Pinning
from opperf.model import SCHEMA_VERSION, Case, Header, Interpreter, ScriptTarget, Settings, Status
from opperf.reports.run_tables import run_text
from opperf.results.columns import csv_text
from opperf.results.kept import profiles_of, streams_of
from opperf.results.runfile import read_run

SCRIPT = """
import os
fd = int(os.environ["DATA_FD"])
for n in range(40):
    os.write(fd, b'{"task": "train", "rate": %d}\\n' % (100 + n % 2))
"""


@pytest.fixture
def cases(tmp_path):
    (tmp_path / "good.py").write_text(SCRIPT)
    (tmp_path / "bad.py").write_text("1 / 0")
    return tuple(
        Case(ScriptTarget(name, str(tmp_path / f"{name}.py"), stop=5), {}, passes=())
        for name in ("bad", "good")
    )


@pytest.mark.parametrize("name", [LOCAL, ISOLATED])
def test_an_executor_runs_programs_and_a_run_file_keeps_them(cases, tmp_path, name):
    path = tmp_path / "run.jsonl"
    header = Header(SCHEMA_VERSION, "2026-01-02T03:04:05+00:00", {})
    pinning = Pinning(NONE)
    with Workers(pinning=pinning) as workers:
        task = Task(cases, profiles=profiles_of(path))
        with open_executor(name, task, workers, pinning) as executor:
            execute_to_file(path, header, cases, cases, executor, Progress(), lambda: 1.0)
    run, _ = read_run(path)
    bad, good = run.records
    assert (bad.status, good.status) == (Status.FAILED, Status.OK)
    assert bad.reason == "exit code 1: ZeroDivisionError: division by zero"
    assert good.summaries["rate"].n == 5
    (process,) = good.processes
    events = read_stream(streams_of(path) / process.stream).events
    assert len([one for one in events if "rate" in (one.data or {})]) >= 15
    assert run.environment.framework == "program"
    assert run.environment.python == run.environment.versions["python"]
    assert "good" in run_text(run.records) and "rate" in csv_text(run).partition("\n")[0].lower()


def test_a_program_has_the_interpreter_of_its_settings(tmp_path, cases):
    script = tmp_path / "good.py"
    script.write_text(f"import sys\nassert sys.flags.no_user_site\n{SCRIPT}")
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -s "$@"\n')
    wrapper.chmod(0o755)
    case = Case(ScriptTarget("good", str(script), stop=5), {}, Settings(python="other"), passes=())
    with Workers([Interpreter(str(wrapper), "other")], Pinning(NONE)) as workers:
        assert workers.environment(case).versions["python"]
        record = workers.measure(case)
    assert record.status is Status.OK, record.reason


def test_an_interpreter_that_is_none_is_said(tmp_path, cases):
    case = Case(cases[1].target, {}, Settings(python="other"), passes=())
    with Workers([Interpreter("/bin/false", "other")], Pinning(NONE)) as workers:
        with pytest.raises(WorkerError, match="/bin/false cannot run programs"):
            workers.environment(case)
        assert workers.measure(case).reason.startswith("/bin/false cannot run programs")
