"""Memory measured in a fork of a process that has run nothing."""

import os
import signal

import msgspec
import psutil
import pytest

from opperf.instruments.peaks import Peaks
from opperf.instruments.prepared import Bound
from opperf.model import CallableTarget, Case, Fill, OperatorTarget, Settings, TensorSpec
from opperf.worker import pristine as module
from opperf.worker.pristine import (
    PeaksRequest,
    PristineServer,
    is_self_contained,
    pristine_server,
    start_pristine_server,
)


@pytest.fixture(scope="module", autouse=True)
def found_by_processes(variables):
    """Processes that are started here find the fake framework."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", variables["PYTHONPATH"])
        yield


@pytest.fixture(scope="module")
def pristine():
    process = PristineServer("fake")
    yield process
    process.end()


def relu(shape=(64, 64), passes=("forward", "backward"), target="relu", **settings):
    return Case(
        OperatorTarget("fake", target),
        {"data": TensorSpec(shape, gradient=True)},
        Settings(**settings),
        passes,
    )


ARRAY = 64 * 64 * 4
"""Bytes of an input, of an output, and of a gradient."""


def test_peaks_are_those_of_arithmetic(pristine):
    found = pristine.peaks(relu())
    assert (found.forward, found.both) == (ARRAY, 2 * ARRAY)
    assert found.clean and found.busy_s > 0


def test_no_backward_pass_that_was_not_asked_for(pristine):
    assert pristine.peaks(relu(passes=("forward",))).both is None
    assert pristine.peaks(relu(target="rounded")).both is None


def test_a_case_that_is_refused_has_no_peaks_and_costs_no_other(pristine):
    assert pristine.peaks(relu(target="refuses")) is None
    assert pristine.peaks(relu()) is not None


def forks_of(pristine):
    return [child.pid for child in psutil.Process(pristine._process.pid).children()]


def test_a_fork_serves_for_as_long_as_nothing_is_kept(pristine):
    pristine.peaks(relu())
    (first,) = forks_of(pristine)
    pristine.peaks(relu((128, 128)))
    assert forks_of(pristine) == [first]


@pytest.mark.parametrize("target", ["keeps", "refuses", "leaves", "is_killed"])
def test_a_fork_that_is_not_as_it_was_is_replaced(pristine, target):
    pristine.peaks(relu())
    (first,) = forks_of(pristine)
    pristine.peaks(relu(target=target))
    # It is replaced after it has answered.
    assert pristine.peaks(relu()).forward == ARRAY
    (second,) = forks_of(pristine)
    assert second != first


def test_nothing_is_forked_while_a_case_is_timed(fake, monkeypatch):
    log = []

    class Forked:
        def __init__(self, framework):
            log.append("fork")

        channel = property(lambda self: self)

        def ask(self, request):
            log.append(request.case.target.name)
            return Peaks(1, None, clean=log[-1] == "clean")

        def end(self):
            log.append("end")

    class Asked:
        def lines(self):
            for name in ("clean", "keeps", "clean", "keeps"):
                yield msgspec.json.encode(PeaksRequest(relu(target=name)))

        def send(self, message):
            pass

    monkeypatch.setattr(module, "Fork", Forked)
    monkeypatch.setattr(module.gc, "freeze", lambda: None)
    module.serve(Asked(), fake)
    assert log == ["fork", "clean", "keeps", "end", "fork", "clean", "keeps", "end"]


def test_what_keeps_something_has_its_peaks_all_the_same(pristine):
    found = pristine.peaks(relu(target="keeps"))
    assert found.forward == 2 * ARRAY and not found.clean


def test_a_case_is_begun_before_its_peaks_are_wanted(pristine, monkeypatch):
    assert pristine.wait_until_ready()
    pristine.begin(relu())
    with monkeypatch.context() as patched:
        patched.setattr(pristine, "_ask", None)
        assert pristine.peaks(relu()).forward == ARRAY
    assert pristine.peaks(relu((2, 2))).forward == 16


@pytest.mark.parametrize("target", ["relu", "refuses", "is_killed"])
def test_what_was_begun_in_vain_is_nobody_elses_answer(pristine, target):
    assert pristine.wait_until_ready()
    pristine.begin(relu((128, 128), target=target))
    assert pristine.peaks(relu((2, 2))).forward == 16
    pristine.begin(relu((128, 128), target=target))
    pristine.begin(relu((2, 2)))
    assert pristine.peaks(relu((2, 2))).forward == 16


def test_nothing_is_begun_before_the_framework_is_imported():
    process = PristineServer("fake")
    try:
        process.begin(relu())
        assert process._asked is None
        assert process.peaks(relu()).forward == ARRAY
    finally:
        process.end()


def test_it_starts_again_when_it_has_ended():
    process = PristineServer("fake")
    try:
        os.kill(process._process.pid, signal.SIGKILL)
        process._process.wait()
        assert process.peaks(relu()) is not None
    finally:
        process.end()


def test_one_that_hangs_is_ended_in_time_and_replaced():
    process = PristineServer("fake")
    try:
        assert process.peaks(relu()) is not None
        stopped = process._process
        os.kill(stopped.pid, signal.SIGSTOP)
        assert process.peaks(relu(timeout_s=2.0)) is None
        assert stopped.poll() == -signal.SIGKILL
        assert process.peaks(relu()) is not None
    finally:
        process.end()


@pytest.mark.parametrize("timeout_s", [4.0, 20.0])
def test_a_fork_has_a_quarter_of_the_cases_time(pristine, monkeypatch, timeout_s):
    assert pristine.wait_until_ready()
    given = []
    channel = pristine._process.channel
    monkeypatch.setattr(channel, "answer", lambda _, limit_s: given.append(limit_s))
    assert pristine.peaks(relu(timeout_s=timeout_s)) is None
    assert given == [timeout_s / 4]
    monkeypatch.undo()
    # The answer that nobody has waited for.
    assert channel.line(60.0)


def test_an_interrupt_while_it_answers_ends_it(monkeypatch):
    process = PristineServer("fake")

    def interrupted(timeout_s):
        raise KeyboardInterrupt

    assert process.wait_until_ready()
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(process._process.channel, "line", interrupted)
        process.peaks(relu())
    # The next case gets its own answer.
    assert process._process.poll() is not None
    assert process.peaks(relu((2, 2))).forward == 16
    process.end()


def test_one_that_cannot_import_has_no_peaks():
    process = PristineServer("dying")
    try:
        assert process.peaks(relu()) is None and not process.wait_until_ready()
    finally:
        process.end()


def test_a_fork_of_this_process_needs_no_start(fake, monkeypatch):
    monkeypatch.setattr(module, "Child", None)
    process = PristineServer("fake", fake)
    assert process.peaks(relu()).forward == ARRAY
    process.end()
    assert process._process.poll() is not None


def test_there_is_one_for_each_framework(fake, monkeypatch):
    begun = {}
    monkeypatch.setattr(module, "_SERVERS", begun)
    start_pristine_server(fake)
    process = pristine_server("fake")
    assert begun == {"fake": process} and pristine_server("fake") is process
    process.end()


def test_a_worker_forks_it_without_another_import(worker):
    worker.environment()
    (process,) = psutil.Process(worker._process.pid).children()
    assert "opperf.worker.serve" in process.cmdline(), "a fork has its parent's command"


def test_forks_leave_no_file_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = PristineServer("fake")
    try:
        assert process.peaks(relu()) is not None
    finally:
        process.end()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("bound", "fill", "expected"),
    [
        (Bound(), Fill(), True),
        (Bound(), Fill("given", digest="x"), False),
        (Bound(function=len), Fill(), False),
    ],
)
def test_only_what_a_case_holds_itself_is_measured_elsewhere(bound, fill, expected):
    case = Case(
        CallableTarget("fake", "fake.relu"), {"data": TensorSpec((2,), fill=fill)}, Settings()
    )
    assert is_self_contained(case, bound) is expected
