"""Work of a block of MXNet that is not in its graph."""

import pytest

from opperf.frameworks import load
from opperf.instruments.prepared import Bound
from opperf.model import CallableTarget, Case, NoteCode, Settings, TensorSpec
from opperf.worker.measure import measure

FRAMEWORK = load("mxnet")

import mxnet as mx  # noqa: E402  (after it was loaded)


def dead(F, x):
    for _ in range(4):
        F.tanh(F.dot(x, x))
    return x + 1


def kept(F, x):
    for _ in range(4):
        x = F.tanh(F.dot(x, x))
    return x


def seen(F, x):
    # A view of the work's memory.
    return [F.tanh(F.dot(x, x)).reshape((-1, 2)).expand_dims(0), x + 1]


def block_of(function):
    class Block(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = mx.gluon.nn.Dense(4)

        def hybrid_forward(self, F, x):
            made = function(F, x)
            return [self.dense(x), *(made if isinstance(made, list) else [made])]

    block = Block()
    block.initialize()
    return block


@pytest.mark.parametrize(
    "function, mode, metrics",
    [
        (dead, "hybridize", ["forward", "total"]),
        (dead, "eager", []),
        (kept, "hybridize", []),
        (seen, "hybridize", []),
    ],
)
def test_work_that_is_not_in_the_graph_is_noted(function, mode, metrics):
    settings = Settings(profiler="python", warmup=0, runs=2, memory=False, mode=mode)
    case = Case(CallableTarget("mxnet", "user.block"), {"0": TensorSpec((64, 64))}, settings)
    block = block_of(function)
    before = mx.gluon.HybridBlock._call_cached_op
    record = measure(case, FRAMEWORK, Bound(function=block))
    assert record.status.value == "ok", record.reason
    assert [one.metric for one in record.notes if one.code == NoteCode.DEAD_CODE] == metrics
    # What looked at it is gone, and the graph is called again.
    assert mx.gluon.HybridBlock._call_cached_op is before
    assert block._active == (mode == "hybridize")
