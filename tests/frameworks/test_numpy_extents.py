"""Where NumPy's arrays are in memory, and what calls move by that."""

import numpy as np
import pytest

from opperf.frameworks import load
from opperf.frameworks.base import Extent
from opperf.frameworks.numpy.tensors import extent
from opperf.model import Case, Fill, OperatorTarget, Settings, TensorSpec
from opperf.worker.measure import measure


def test_an_extent_is_what_the_strides_reach():
    array = np.zeros((4, 6), "float64")
    whole = extent(array)
    assert (whole.bytes, whole.end - whole.begin) == (192, 192)
    assert extent(array[1:3, 2:4]) == Extent(32, whole.begin + 64, whole.begin + 64 + 64, 4)
    assert extent(array[::-1, ::-1]) == whole == extent(array.T)
    repeated = extent(np.broadcast_to(array[0], (100, 6)))
    assert repeated == Extent(48, whole.begin, whole.begin + 48, 600)
    # A number, and an array that has none, share memory with nothing.
    assert extent(array.sum()) == Extent(8, elements=1) and extent(array[:0]) == Extent(0)


@pytest.mark.parametrize(
    ("make", "shares"),
    [
        (np.transpose, True),
        (lambda array: array[1:, 1:], True),
        (np.asarray, True),
        (np.copy, False),
        (np.negative, False),
    ],
)
def test_a_view_shares_memory_as_numpy_says(make, shares):
    array = np.ones((8, 8))
    made = make(array)
    assert np.shares_memory(array, made) is shares
    assert extent(array).shares_memory_with(extent(made)) is shares


BYTES = 64 * 32 * 4


@pytest.mark.parametrize(
    ("name", "arguments", "moved"),
    [
        ("add", {"x1": TensorSpec((64, 32)), "x2": TensorSpec((64, 32))}, 3 * BYTES),
        (
            "add",
            {"x1": TensorSpec((64, 32)), "x2": TensorSpec((64, 32), fill=Fill("same", data="x1"))},
            2 * BYTES,
        ),
        (
            "add",
            {
                "x1": TensorSpec((64, 32)),
                "x2": TensorSpec((64, 32)),
                "out": TensorSpec((64, 32), fill=Fill("same", data="x1")),
            },
            3 * BYTES,
        ),
        ("sum", {"a": TensorSpec((64, 32))}, BYTES + 4),
        ("transpose", {"a": TensorSpec((64, 32))}, 0),
        ("ravel", {"a": TensorSpec((64, 32))}, 0),
        ("split", {"ary": TensorSpec((64, 32)), "indices_or_sections": 4}, 0),
    ],
)
def test_what_functions_move(name, arguments, moved):
    framework = load("numpy")
    settings = Settings(profiler="python", warmup=0, runs=1, memory=False)
    case = Case(OperatorTarget("numpy", name), arguments, settings, passes=("forward",))
    record = measure(case, framework)
    assert (record.status.value, record.reason) == ("ok", "")
    assert record.moved_bytes == moved
