"""Child processes, and forks of this one, that are asked on a channel and ended."""

import os
import signal
import sys
import time

import psutil
import pytest

from opperf.errors import UsageError
from opperf.processes.channel import (
    Answer,
    ChannelClosed,
    ChannelTimeout,
    Refusal,
    Request,
    decoder_of,
)
from opperf.processes.children import MARK, Child, Fork, Mark
from tests.running import is_running

WAIT_S = 60
"""Limit on what a process is about to do, on a busy machine."""


class Doubled(Request[tuple[int, ...]], frozen=True):
    value: int


def double(channel):
    for line in channel.lines():
        value = decoder_of(Doubled).decode(line).value
        if value < 0:
            try:
                raise UsageError("too small")
            except UsageError as error:
                channel.send(Refusal.of(error))
        else:
            channel.send(Answer.of([value, value]))


@pytest.fixture
def forked():
    child = Fork(double)
    yield child
    child.end()
    assert child.poll() == 0 and not psutil.pid_exists(child.pid)


def test_a_fork_answers_until_it_is_ended(forked):
    assert forked.channel.ask(Doubled(2), WAIT_S) == (2, 2)
    with pytest.raises(UsageError, match="too small"):
        forked.channel.ask(Doubled(-1), WAIT_S)
    assert forked.channel.ask(Doubled(10**6)) == (10**6, 10**6)
    assert forked.poll() is None


def test_an_answer_that_does_not_come_is_a_timeout_or_an_end(forked):
    with pytest.raises(ChannelTimeout):
        forked.channel.line(0.0)
    os.kill(forked.pid, signal.SIGKILL)
    with pytest.raises(ChannelClosed):
        forked.channel.line(WAIT_S)
    # All its files are closed then.
    os.waitid(os.P_PID, forked.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(ChannelClosed):
        forked.channel.send(Doubled(1))


def test_messages_longer_than_a_pipe_arrive_whole():
    def echo(channel):
        for line in channel.lines():
            channel.send(len(line))

    child = Fork(echo)
    child.channel.send("x" * 10**6)
    assert child.channel.line(WAIT_S) == b"%d" % (10**6 + 2)
    child.end()


def test_a_fork_does_not_hold_on_to_its_parents_pipes():
    reading, writing = os.pipe()
    child = Fork(double)
    os.close(writing)
    # Nobody can write to it any more, so its end is there; a copy of the child's would hide it.
    assert os.read(reading, 1) == b""
    child.end()
    os.close(reading)


STARTS = """
import os, subprocess, sys
words = [sys.executable, "-c", "import time; time.sleep(3600)"]
pids = [subprocess.Popen(words, start_new_session=own).pid for own in (False, True)]
print(pids, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("grace_s", [0.0, 0.1])
def test_a_child_ends_with_its_group_and_all_that_has_its_mark(grace_s):
    outer, mark = Mark(), Mark()
    child = Child(
        [sys.executable, "-c", STARTS], outer.variables(os.environ), requests="answered", mark=mark
    )
    pids = decoder_of(list[int]).decode(child.channel.line(WAIT_S))
    assert len(psutil.Process(child.pid).environ()[MARK].split()) >= 2
    child.end(grace_s)
    assert child.returncode == -signal.SIGKILL and child.stdout.closed
    deadline = time.monotonic() + WAIT_S
    while any(map(is_running, pids)):
        assert time.monotonic() < deadline, "one goes on"
        time.sleep(0.02)


def test_a_child_that_reads_the_end_of_its_requests_is_not_killed():
    words = [sys.executable, "-c", "import sys; sys.exit(len(sys.stdin.read()) + 7)"]
    child = Child(words, os.environ, requests="answered", leads=False)
    child.channel.say_end()
    child.end(WAIT_S)
    assert child.returncode == 7
