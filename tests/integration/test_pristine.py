"""Memory of MXNet's operators, which keep workspace, measured in forks of a process that has run
nothing."""

import time

import psutil
import pytest

from opperf.model import Case, OperatorTarget, Settings, TensorSpec
from opperf.worker.client import Worker
from opperf.worker.pristine import PristineServer

WAIT_S = 30
"""Longest wait for a fork: a failure's price, and no limit of what is tested."""


@pytest.fixture(scope="module")
def pristine():
    process = PristineServer("mxnet")
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


def fork_of(pristine):
    """The id of the fork for the next case, once the last one is replaced, if it has to be."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        children = psutil.Process(pristine._process.pid).children()
        if len(children) == 1:
            return children[0].pid
    raise AssertionError(f"{len(children)} forks after {WAIT_S} s")


def test_a_fork_serves_for_as_long_as_nothing_is_kept(pristine):
    pristine.peaks(relu())
    first = fork_of(pristine)
    pristine.peaks(relu((128, 128)))
    assert fork_of(pristine) == first


@pytest.mark.parametrize("case", [sort(64), relu(target="no_such_operator")])
def test_a_fork_that_is_not_as_it_was_is_replaced(pristine, case):
    pristine.peaks(relu())
    first = fork_of(pristine)
    pristine.peaks(case)
    # It is replaced after it has answered.
    pristine.peaks(relu())
    assert fork_of(pristine) != first


def test_a_worker_forks_it_without_another_import():
    with Worker("mxnet") as worker:
        worker.environment()
        (process,) = psutil.Process(worker._process.pid).children()
        assert "opperf.worker.serve" in process.cmdline(), "a fork has its parent's command"
        case = sort(128)
        measured = worker.measure(case).summaries["memory_forward"].median
    started = PristineServer("mxnet")
    assert measured == started.peaks(case).forward
    started.end()
