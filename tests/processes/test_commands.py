"""Commands that are run to their end."""

import os
import sys
import time
from pathlib import Path

import pytest

from opperf.processes.commands import CommandResult, run_command
from tests.running import is_running

WAIT_S = 60
"""Limit on what a process is about to do, on a busy machine."""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["cat"], CommandResult("given", "", 0)),
        ("echo out; echo err >&2; exit 3", CommandResult("out\n", "err\n", 3, "ended with 3")),
        (
            ["no-such-program"],
            CommandResult(problem="cannot be started: No such file or directory", started=False),
        ),
    ],
)
def test_what_became_of_a_command_is_a_value(words, expected):
    assert run_command(words, given="given") == expected


def test_it_has_a_folder_variables_and_a_file_for_all_that_it_prints(tmp_path):
    with (tmp_path / "log").open("wb") as log:
        line = "pwd; echo $A >&2"
        assert run_command(line, tmp_path, {"A": "b"}, output=log) == CommandResult(code=0)
    assert (tmp_path / "log").read_text() == f"{tmp_path}\nb\n"


TREE = """
import pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
pathlib.Path("child.part").write_text(str(child.pid))
pathlib.Path("child.part").rename("child")
child.wait()
"""


def test_what_takes_too_long_ends_with_what_it_has_started(tmp_path, monkeypatch):
    class Process(run_command.__globals__["subprocess"].Popen):
        def communicate(self, given, timeout_s):
            # Whatever the load, the other process has begun.
            while not (tmp_path / "child").exists():
                assert self.poll() is None
            return super().communicate(given, 0.0)

    monkeypatch.setattr("opperf.processes.commands.subprocess.Popen", Process)
    done = run_command([sys.executable, "-c", TREE], tmp_path, dict(os.environ), timeout_s=7)
    assert (done.code, done.problem) == (None, "took over 7 s")
    child = int(Path(tmp_path, "child").read_text())
    deadline = time.monotonic() + WAIT_S
    # A signal reaches it a moment later.
    while is_running(child):
        assert time.monotonic() < deadline, "it goes on"
        time.sleep(0.02)


INTERRUPTED = """
import os, signal, sys, time
from opperf.processes.commands import run_command

received = []
# A shell's background job ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)
if sys.argv[1] == "SIGTERM":
    signal.signal(signal.SIGTERM, lambda number, frame: received.append(number) or 1 / 0)
number = signal.Signals[sys.argv[1]]
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), number))
begun = time.monotonic()
try:
    run_command(["sleep", "120"])
except (KeyboardInterrupt, ZeroDivisionError) as error:
    print(type(error).__name__, received, time.monotonic() - begun < 100)
"""


@pytest.mark.parametrize(
    "sent, printed",
    [("SIGINT", "KeyboardInterrupt [] True"), ("SIGTERM", "ZeroDivisionError [15] True")],
)
def test_an_interrupt_while_it_is_started_is_not_lost(sent, printed):
    found = run_command([sys.executable, "-c", INTERRUPTED, sent])
    assert (found.output.strip(), found.errors) == (printed, "")
