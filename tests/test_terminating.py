"""A request to end the process is taken as Ctrl-C is, unless somebody else takes it."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from opperf import opperf
from opperf.terminating import ends_at_once, interrupted_by_termination


@pytest.fixture(autouse=True)
def handler():
    """What was there before a test is there after it."""
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def terminate(*arguments, **named):
    os.kill(os.getpid(), signal.SIGTERM)


def test_it_interrupts_and_the_handler_goes():
    with interrupted_by_termination() as received:
        assert ends_at_once() and not received
        with pytest.raises(KeyboardInterrupt):
            terminate()
        assert received == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_handler_that_is_there_remains():
    seen = []
    signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    with interrupted_by_termination() as received:
        terminate()
        assert not ends_at_once()
    assert seen == [signal.SIGTERM] and not received


def test_the_exit_code_is_that_of_the_signal(monkeypatch, capsys):
    monkeypatch.setattr(opperf.cli, "main", terminate)
    with pytest.raises(SystemExit) as ended:
        opperf.main(["list"])
    assert ended.value.code == 128 + signal.SIGTERM
    assert capsys.readouterr().err == "interrupted\n"


def test_another_program_ends_with_a_process_that_is_killed():
    code = """
import os, subprocess
from opperf.terminating import ending_with_parent
started = subprocess.Popen(["sleep", "600"], preexec_fn=ending_with_parent())
print(started.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    try:
        program = psutil.Process(int(done.stdout))
        # Raises an error if it goes on; one that nobody has asked for its exit code has ended.
        program.status() == psutil.STATUS_ZOMBIE or program.wait(60)
    except psutil.NoSuchProcess:
        pass
