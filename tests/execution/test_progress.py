"""What is shown while cases run: on a terminal, in a log, and when nothing is to be said."""

import io
import re

import pytest

from opperf.execution import progress as module
from opperf.execution.progress import PLAIN_EVERY_S, Live, Plain, Progress, make_progress
from opperf.model import Record, Status


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """Stands in for the `time` module: time passes when a test says so."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def end(make_case):
    """Tells a progress that a case began and ended."""

    def told(shown, name="relu", status=Status.OK, reason="", wall_s=0.0):
        case = make_case(name)
        shown.begin(case)
        shown.end(Record(case=case, id=case.id, status=status, reason=reason, wall_s=wall_s))

    return told


def test_which_one_is_shown():
    assert type(make_progress(Terminal(), 5, quiet=False)) is Live
    assert type(make_progress(io.StringIO(), 5, quiet=False)) is Plain
    assert type(make_progress(Terminal(), 5, quiet=True)) is Progress
    assert type(make_progress(io.StringIO(), 5, quiet=True)) is Progress
    assert type(make_progress(Terminal(), 0, quiet=False)) is Progress
    assert type(make_progress(io.StringIO(), 5, quiet=False, bar=True)) is Live


def test_a_bar_that_is_asked_for_is_written_once_for_each_case_where_there_is_no_terminal(end):
    stream = io.StringIO()
    with make_progress(stream, 2, quiet=False, bar=True) as shown:
        end(shown, "relu")
    assert "1/2" in stream.getvalue()


def test_quiet_says_nothing(capsys, end):
    with make_progress(io.StringIO(), 1, quiet=True) as shown:
        end(shown, status=Status.CRASHED, reason="gone")
    assert capsys.readouterr() == ("", "")


def test_plain_has_operator_done_total_elapsed_and_left(clock, end):
    stream = io.StringIO()
    with Plain(stream, 10) as shown:
        clock.now += 6
        end(shown, "relu")
    assert stream.getvalue() == "1/10 relu, 6.0 s elapsed, about 54 s left\n"


def test_the_start_of_a_worker_is_no_part_of_what_is_left(clock, end):
    stream = io.StringIO()
    with Plain(stream, 3) as shown:
        clock.now += 40
        end(shown, "relu", wall_s=2.0)
        clock.now += 10
        end(shown, "add", wall_s=10.0)
    assert [line.split(", ", 1)[1] for line in stream.getvalue().splitlines()] == [
        "40 s elapsed, about 4.0 s left",
        # The latest ones count most.
        "50 s elapsed, about 6.3 s left",
    ]


def test_plain_says_little(clock, end):
    stream = io.StringIO()
    with Plain(stream, 1000) as shown:
        for _ in range(999):
            clock.now += 0.1
            end(shown)
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("1/1000 ")
    # Some 100 s pass.
    assert 5 <= len(lines) <= 100 / PLAIN_EVERY_S + 1
    done = [int(line.partition("/")[0]) for line in lines]
    assert done == sorted(set(done))


def test_plain_tells_the_last_case_and_each_that_is_not_ok(clock, end):
    stream = io.StringIO()
    with Plain(stream, 4) as shown:
        end(shown, "relu")
        end(shown, "segfaults", Status.CRASHED, "SIGSEGV")
        end(shown, "needs_floats", Status.SKIPPED, "no int32")
        end(shown, "add")
    lines = stream.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "1/4 relu",
        "2/4 segfaults (crashed: SIGSEGV)",
        "3/4 needs_floats (skipped: no int32)",
        "4/4 add",
    ]
    assert lines[-1] == "4/4 add, 0.0 s elapsed"


def shown_on(terminal):
    """What was written to a terminal, without its control sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


def test_the_live_line(terminal, clock, end):
    with Live(terminal, 10) as shown:
        end(shown, "relu")
        clock.now += 30
        end(shown, "add")
        shown._bar.refresh()
    text = shown_on(terminal)
    assert "add" in text and "2/10" in text
    assert "30 s elapsed, about 2 min 10 s left" in text
    # It is one line that is written over, and gone at the end.
    assert "\x1b[2K" in terminal.getvalue()


def test_the_live_line_stays_below_what_went_wrong(terminal, end):
    with Live(terminal, 4) as shown:
        end(shown, "segfaults", Status.CRASHED, "ended by [bold]SIGSEGV[/bold]")
        end(shown, "hangs", Status.TIMEOUT, "not finished after 1 s")
        end(shown, "fails", Status.FAILED, "bad luck")
        end(shown, "needs_floats", Status.SKIPPED, "no int32")
    text = shown_on(terminal)
    assert "segfaults: crashed: ended by [bold]SIGSEGV[/bold]" in text
    assert "hangs: timeout: not finished after 1 s" in text
    assert "fails: failed: bad luck" in text
    assert "no int32" not in text


def test_the_live_line_ends_with_an_interrupt(terminal, end):
    with pytest.raises(KeyboardInterrupt), Live(terminal, 4) as shown:
        end(shown)
        raise KeyboardInterrupt
    # The cursor, hidden while the line lives, is back.
    assert terminal.getvalue().rfind("\x1b[?25h") > terminal.getvalue().rfind("\x1b[?25l")
