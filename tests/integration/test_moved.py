"""What MXNet's operators move, by where their arrays are."""

import mxnet as mx
import numpy as np
import pytest

from opperf.frameworks import load
from opperf.frameworks.mxnet import tensors
from opperf.model import Case, Fill, OperatorTarget, Settings, TensorSpec
from opperf.worker.measure import measure

BYTES = 64 * 32 * 4
DATA = TensorSpec((64, 32))
SAME = TensorSpec((64, 32), fill=Fill("same", data="weight"))


@pytest.mark.parametrize(
    ("name", "arguments", "moved"),
    [
        ("relu", {"data": DATA}, 2 * BYTES),
        ("sgd_update", {"weight": DATA, "grad": DATA, "lr": 0.1, "out": SAME}, 3 * BYTES),
        ("broadcast_add", {"lhs": DATA, "rhs": DATA}, 3 * BYTES),
        # An array of MXNet's has a number for its shape.
        ("sum", {"data": DATA}, BYTES + 4),
    ],
)
def test_what_operators_move(name, arguments, moved):
    settings = Settings(profiler="python", warmup=0, runs=1, memory=False)
    case = Case(OperatorTarget("mxnet", name), arguments, settings, passes=("forward",))
    record = measure(case, load("mxnet"))
    assert (record.status.value, record.reason) == ("ok", "")
    assert record.moved_bytes == moved


@pytest.mark.parametrize(
    ("make", "shares"),
    [
        (lambda array: array.reshape((-1,)), True),
        (lambda array: array[2:4], True),
        (mx.nd.identity, False),
        (lambda array: mx.nd.relu(array, out=array), True),
    ],
)
def test_a_view_shares_memory_with_its_array(make, shares):
    array = mx.nd.ones((64, 32))
    # An array has no memory before it is written, which MXNet does in its own time.
    array.wait_to_read()
    made = make(array)
    mx.nd.waitall()
    (one,), (other,) = tensors.extents(array), tensors.extents([made])
    assert one.shares_memory_with(other) is shares


def test_a_sparse_array_is_what_it_stores():
    dense = np.zeros((64, 32), "float32")
    dense[:4, 0] = 1
    array = mx.nd.array(dense)
    csr, rows = array.tostype("csr"), array.tostype("row_sparse")
    # Four values with their columns, and where each of the rows begins, in 8 bytes each.
    assert [one.bytes for one in tensors.extents(csr)] == [4 * 4 + 4 * 8 + 65 * 8]
    # Four rows of 32 values, and which rows they are.
    assert [one.bytes for one in tensors.extents(rows)] == [4 * 32 * 4 + 4 * 8]
    (one, again, other) = tensors.extents([csr, [csr, rows]])
    assert one.shares_memory_with(again) and not one.shares_memory_with(other)


def test_a_file_is_its_bytes():
    assert [one.bytes for one in tensors.extents([tensors.file_of(b"12345"), 3, "text"])] == [5]
