"""MXNet's messages as reasons: what they say, and nothing of where in C++ it was said."""

import mxnet as mx
import pytest

from opperf.frameworks.mxnet.gradient import UNAVAILABLE, refusal

CHECK = (
    'Traceback (most recent call last):\n  File "../src/imperative/utils.h", line 149\nMXNetError: '
)


@pytest.mark.parametrize(
    "text, reason",
    [
        (
            CHECK + "Check failed: out_shapes.size() == outputs.size() (0 vs. 3) : ",
            "MXNet's check failed: out_shapes.size() == outputs.size() (0 vs 3)",
        ),
        (
            CHECK + "Check failed: exec_type == ExecType: :kAsync: ",
            "MXNet's check failed: exec_type == ExecType::kAsync",
        ),
        (
            CHECK + "Check failed: run(tags.size(),\n    is_train): \nStack trace:\n  [bt] (0) x",
            "MXNet's check failed: run(tags.size(), is_train)",
        ),
        (
            CHECK + "Check failed: a == b (1 vs. 2) : shapes differ: 1 and 2",
            "shapes differ: 1 and 2",
        ),
        (
            "Error in operator node_336_backward: [12:54:43] ../src/executor/infer_pass.cc:57: "
            "Operator not implemented: operator = _backward_SparseEmbedding",
            "Operator not implemented: operator = _backward_SparseEmbedding",
        ),
        (
            "[13:18:17] ../3rdparty/tvm/nnvm/src/core/op.cc:73: Check failed: op != nullptr: "
            "Operator _none is not registered\nStack trace:\n  [bt] (0) libmxnet.so",
            "Operator _none is not registered",
        ),
        (
            "Operator _zeros inferring shapes failed.\ninput shapes:\noutput shapes:\n[-1]\n",
            "Operator _zeros inferring shapes failed. input shapes: output shapes: [-1]",
        ),
        ("", "MXNet gave no message"),
    ],
)
def test_a_reason_is_what_was_said(text, reason):
    assert refusal(mx.base.MXNetError(text)) == reason


def test_an_error_that_is_not_mxnets_is_no_refusal():
    assert refusal(ZeroDivisionError("division by zero")) is None


@pytest.mark.parametrize(
    "reason, lacks",
    [
        ("fft is only available for GPU.", True),
        ("could not create a primitive descriptor for an LSTM forward propagation", True),
        ("shapes differ: 1 and 2", False),
    ],
)
def test_what_a_build_or_a_processor_lacks(reason, lacks):
    assert bool(UNAVAILABLE.search(reason)) is lacks
