"""A request to end the process is taken as Ctrl-C is, unless somebody else takes it."""

import os
import signal

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
