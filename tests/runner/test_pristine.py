"""Memory measured in a fork of a process that has run nothing."""

import os
import signal

import psutil
import pytest

from opperf.model import CallableTarget, Case, Fill, OperatorTarget, Settings, TensorSpec
from opperf.runner.pool import Worker
from opperf.runner.prepared import Bound
from opperf.runner.pristine import Child, Pristine, is_self_contained


@pytest.fixture(scope="module")
def pristine():
    process = Pristine("mxnet")
    yield process
    process.end()


def relu(shape=(64, 64), passes=("forward", "backward"), target="relu", **settings):
    return Case(
        OperatorTarget("mxnet", target),
        {"data": TensorSpec(shape, gradient=True)},
        Settings(**settings),
        passes,
    )


def test_peaks_are_those_of_arithmetic(pristine):
    found = pristine.peaks(relu())
    array = 64 * 64 * 4
    assert (found.forward, found.both) == (array, 3 * array)


def test_no_backward_pass_that_was_not_asked_for(pristine):
    assert pristine.peaks(relu(passes=("forward",))).both is None


def test_the_same_case_has_the_same_peaks_whatever_was_asked_before(pristine):
    case = Case(OperatorTarget("mxnet", "sort"), {"data": TensorSpec((128, 128), gradient=True)})
    first = pristine.peaks(case)
    pristine.peaks(Case(OperatorTarget("mxnet", "sort"), {"data": TensorSpec((512, 512))}))
    again = pristine.peaks(case)
    assert (again.forward, again.both) == (first.forward, first.both)
    assert first.forward > 2 * 128 * 128 * 4


def test_a_case_that_is_refused_has_no_peaks_and_costs_no_other(pristine):
    assert pristine.peaks(relu(target="no_such_operator")) is None
    assert pristine.peaks(relu()) is not None


def sort(extent):
    spec = TensorSpec((extent, extent), gradient=True)
    return Case(OperatorTarget("mxnet", "sort"), {"data": spec})


def forks_of(pristine):
    return [child.pid for child in psutil.Process(pristine._process.pid).children()]


def test_a_fork_serves_for_as_long_as_nothing_is_kept(pristine):
    pristine.peaks(relu())
    (first,) = forks_of(pristine)
    pristine.peaks(relu((128, 128)))
    assert forks_of(pristine) == [first]


@pytest.mark.parametrize("case", [sort(64), relu(target="no_such_operator")])
def test_a_fork_that_is_not_as_it_was_is_replaced(pristine, case):
    pristine.peaks(relu())
    (first,) = forks_of(pristine)
    pristine.peaks(case)
    # It is replaced after it has answered.
    pristine.peaks(relu())
    (second,) = forks_of(pristine)
    assert second != first


def test_it_starts_again_when_it_has_ended():
    process = Pristine("mxnet")
    try:
        os.kill(process._process.pid, signal.SIGKILL)
        process._process.wait()
        assert process.peaks(relu()) is not None
    finally:
        process.end()


def test_one_that_hangs_is_ended_in_time_and_replaced():
    process = Pristine("mxnet")
    try:
        assert process.peaks(relu()) is not None
        stopped = process._process
        os.kill(stopped.pid, signal.SIGSTOP)
        assert process.peaks(relu(timeout_s=2.0)) is None
        assert stopped.poll() == -signal.SIGKILL
        assert process.peaks(relu()) is not None
    finally:
        process.end()


def echo(lines, out):
    for line in lines:
        out.write(line)
        out.flush()


def test_a_child_answers_until_it_is_ended():
    child = Child(echo)
    for word in (b"one\n", b"two\n"):
        child.stdin.write(word)
        child.stdin.flush()
        assert child.stdout.readline() == word
    assert child.poll() is None
    child.kill()
    child.wait()
    assert child.poll() == 0 and not psutil.pid_exists(child.pid)


def test_a_child_does_not_hold_on_to_its_parents_pipes():
    reading, writing = os.pipe()
    child = Child(echo)
    os.close(writing)
    # Nobody can write to it any more, so its end is there; a copy of the child's would hide it.
    assert os.read(reading, 1) == b""
    child.kill()
    child.wait()
    os.close(reading)


def test_a_worker_forks_it_without_another_import(tmp_path):
    with Worker("mxnet") as worker:
        worker.environment()
        (process,) = psutil.Process(worker._process.pid).children()
        assert "opperf.runner.worker" in process.cmdline(), "a fork has its parent's command"
        case = sort(128)
        measured = worker.measure(case).summaries["memory_forward"].median
    started = Pristine("mxnet")
    assert measured == started.peaks(case).forward
    started.end()


def test_forks_leave_no_file_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = Pristine("mxnet")
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
        CallableTarget("mxnet", "mxnet.ndarray.relu"),
        {"data": TensorSpec((2,), fill=fill)},
        Settings(),
    )
    assert is_self_contained(case, bound) is expected
