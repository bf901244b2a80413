"""`run_performance_test` leaves a caller's arrays, gradients and modes as they were."""

import mxnet as mx
import numpy as np
from mxnet import nd

from opperf.utils.benchmark_utils import run_performance_test

SQUARE = (8, 8)


def test_a_callers_arrays_are_left_alone(result):
    array, other, out = nd.ones(SQUARE), mx.np.ones(SQUARE), nd.zeros(SQUARE)
    plain = np.ones(SQUARE)
    result(nd.add, {"lhs": array, "rhs": plain}, run_backward=True)
    result(mx.np.exp, {"x": other}, run_backward=True)
    result(nd._internal._copyto, {"data": array, "out": out})
    assert array.grad is None
    assert other.grad is None
    assert np.array_equal(array.asnumpy(), np.ones(SQUARE))
    assert np.array_equal(other.asnumpy(), np.ones(SQUARE))
    assert np.array_equal(plain, np.ones(SQUARE))
    assert np.array_equal(out.asnumpy(), np.zeros(SQUARE))


def test_an_optimizer_does_not_write_to_a_callers_weights(result):
    weight, grad = nd.ones(SQUARE), nd.ones(SQUARE)
    shown = result(nd.sgd_update, {"weight": weight, "grad": grad, "lr": 0.1, "out": weight})
    assert "status" not in shown, shown
    assert np.array_equal(weight.asnumpy(), np.ones(SQUARE))


def test_a_gradient_a_caller_attached_is_left_alone(result):
    array = nd.ones(SQUARE)
    array.attach_grad()
    array.grad[:] = 7
    result(nd.exp, {"data": array})
    assert np.array_equal(array.grad.asnumpy(), np.full(SQUARE, 7))


def test_modes_are_as_they_were_before():
    before = mx.util.is_np_array(), mx.util.is_np_shape(), mx.autograd.is_training()
    run_performance_test(mx.np.add, inputs=[{"x1": SQUARE, "x2": SQUARE}], warmup=0, runs=1)
    run_performance_test(mx.np.add, inputs=[{"x1": SQUARE, "x2": (7,)}], warmup=0, runs=1)
    run_performance_test(nd.Dropout, inputs=[{"data": SQUARE}], warmup=0, runs=1)
    assert before == (mx.util.is_np_array(), mx.util.is_np_shape(), mx.autograd.is_training())


def test_operators_of_nd_get_legacy_arrays_whatever_the_mode(result):
    seen = []

    def function(data):
        seen.append(type(data))
        return data

    with mx.util.np_array(True):
        result(function, {"data": SQUARE}, run_backward=False)
    assert set(seen) == {mx.nd.NDArray}
