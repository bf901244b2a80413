"""Recordings of programs that use MXNet."""

import pytest

from opperf.frameworks import load
from opperf.model import TensorSpec
from tests.recorded_functions import call_each, calls, record
from tests.shared_workers import replace_workers


@pytest.fixture(autouse=True)
def shared(monkeypatch, shared_worker):
    replace_workers(monkeypatch, shared_worker)


@pytest.fixture(scope="module")
def mx():
    load("mxnet")
    import mxnet

    return mxnet


def test_a_training_loop_of_gluon(tmp_path, mx):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, in_units=3, activation="relu"), mx.gluon.nn.Dense(4, in_units=4))
    net.initialize()
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9})

    def program():
        for _ in range(3):
            with mx.autograd.record():
                loss = net(mx.nd.ones((2, 3))).sum()
            loss.backward()
            trainer.step(2)

    run = record(tmp_path, program, steps="1:3", timed=True)
    assert run.header.program.steps == 2
    (first, second) = calls(run, "FullyConnected")
    assert first.count == 2 and first.passes == ("forward", "backward")
    assert first.arguments["weight"] == TensorSpec((4, 3), gradient=True)
    (site,) = first.sites
    assert site.module == "HybridSequential.0" and site.file == __file__
    assert site.line == program.__code__.co_firstlineno + 3
    assert second.sites[0].module == "HybridSequential.1"
    updates = [case for case in run.cases for site in case.sites if site.phase == "optimizer"]
    assert updates and all("out" in case.arguments for case in updates)
    assert "hybridized block" in run.header.program.notes[0]
    assert all(len(case.recorded) == case.count for case in run.cases)
    call_each(run, "mxnet")


def test_functions_of_both_kinds_of_arrays_outside_of_autograd(tmp_path, mx):
    def program():
        mx.nd.ones((2, 3)) + 2
        mx.np.add(mx.np.ones((2, 3)), 1)

    run = record(tmp_path, program)
    (added,) = calls(run, "_plus_scalar")
    assert added.passes == ("forward",) and added.arguments["scalar"] == 2
    (on_numpy,) = calls(run, "_npi_add_scalar")
    assert on_numpy.arguments["data"].array_type == "np"


def test_hybridized_blocks_are_as_before_afterwards(tmp_path, mx):
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize()
    before = mx.gluon.HybridBlock._call_cached_op
    record(tmp_path, lambda: net(mx.nd.ones((1, 3))))
    assert mx.gluon.HybridBlock._call_cached_op is before and net._active
