"""The progress that a step of a bisection shows."""

import io
import sys

import pytest

from opperf.execution.progress import PLAIN_EVERY_S, Live, Pace, Progress
from opperf.model import Record, Status
from opperf.requests.ab.resolving import Work
from opperf.requests.bisecting.running import SlowSteps, watch_of

COMMIT = "0123456789abcdef"


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def record(make_case):
    made = make_case("relu")
    return Record(case=made, id=made.id, status=Status.OK)


def test_a_step_that_is_slow_says_commit_and_process(record):
    stream, clock = io.StringIO(), Clock()
    # Two cases in each of four processes.
    with SlowSteps(stream, "0123456789: A against B: process", 2, Pace(8), clock) as shown:
        shown.end(record)
        assert stream.getvalue() == ""
        for _ in range(2):
            clock.now += PLAIN_EVERY_S / 2
            shown.end(record)
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("0123456789: A against B: process 2 of 4, relu, ")


def test_a_step_that_is_quick_says_nothing(record):
    stream, clock = io.StringIO(), Clock()
    shown = SlowSteps(stream, "", 1, Pace(100), clock)
    for _ in range(99):
        shown.end(record)
        clock.now += PLAIN_EVERY_S / 100
    shown.extend(1)
    assert stream.getvalue() == ""


def test_a_terminal_has_the_usual_line_with_the_commit(record, monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    watch = watch_of(COMMIT)
    assert type(watch(0, None, Work("first call"))) is Progress
    assert type(watch(2, None, Work("first call"))) is SlowSteps
    monkeypatch.setattr(sys, "stderr", Terminal())
    with watch(2, None, Work("first call")) as shown:
        assert type(shown) is Live
        shown.begin(record.case)
        shown.end(record)
    assert "0123456789 relu" in sys.stderr.getvalue()
