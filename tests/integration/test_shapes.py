"""A list of shapes makes tensors of those shapes, in calls and in rules."""

from __future__ import annotations

import math
from functools import partial

import mxnet as mx
import numpy as np
import pytest
from mxnet import nd

from opperf.custom_operations import custom_operations
from opperf.instruments.prepared import PreparedCase
from opperf.model import TensorSpec
from opperf.sources.registry import plan
from opperf.sources.resolving import resolve, resolve_selection
from opperf.sources.selecting import Selection

MEMORY = "max_storage_mem_alloc_cpu/0"
WIDE = (1024, 1024)


@pytest.fixture
def recording():
    """Wraps a variadic function and keeps the shapes of the arrays of every call."""
    seen = []

    def wrap(function):
        def called(*args, **keywords):
            seen.append([array.shape for array in args])
            return function(*args, **keywords)

        called.seen = seen
        return called

    return wrap


CALLS = {
    "add_n": (nd.add_n, [WIDE, WIDE, WIDE], {}),
    "khatri_rao": (nd.khatri_rao, [(32, 64), (16, 64)], {}),
    "multi_sum_sq": (nd.multi_sum_sq, [(1024, 1024), (7, 3)], {"num_arrays": 2}),
    "amp_multicast": (nd.amp_multicast, [WIDE, WIDE], {"num_outputs": 2}),
    "Custom": (nd.Custom, [WIDE], {"op_type": "CustomAddOne"}),
    "concat": (nd.concat, [(5, 3), (2, 3), (1, 3)], {"dim": 0}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_gets_arrays_of_the_shapes_listed(result, recording, name):
    function, shapes, others = CALLS[name]
    wrapped = recording(function)
    # The wrapper's own name for its arrays, as it is not the generated function.
    shown = result(wrapped, {"args": shapes, **others}, run_backward=False, warmup=0, runs=1)
    assert "status" not in shown, shown
    assert wrapped.seen
    assert all(shapes_seen == shapes for shapes_seen in wrapped.seen)


# Each operator itself, its inputs and the elements of its outputs; the argument is called as
# MXNet's registry calls it.
OUTPUTS = {
    "add_n": (nd.add_n, {"args": [WIDE, WIDE, WIDE]}, math.prod(WIDE)),
    "khatri_rao": (nd.khatri_rao, {"args": [(32, 64), (16, 64)]}, 32 * 16 * 64),
    "amp_multicast": (
        nd.amp_multicast,
        {"data": [WIDE, WIDE], "num_outputs": 2},
        2 * math.prod(WIDE),
    ),
    "concat": (nd.concat, {"data": [(5, 300), (2, 300)], "dim": 0}, 7 * 300),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_are_as_large_as_the_shapes_make_them(result, name):
    function, inputs, elements = OUTPUTS[name]
    shown = result(function, inputs, run_backward=False)
    assert shown[MEMORY] == pytest.approx(elements * 4 / 1000, abs=5e-4)
    assert shown["inputs"] == inputs


def test_multi_sum_sq_sums_each_array(record):
    made = record(nd.multi_sum_sq, {"data": [WIDE, (3, 2)], "num_arrays": 2}, run_backward=False)
    assert made.status.value == "ok", made.reason
    assert [spec.shape for _, spec in made.case.tensors()] == [WIDE, (3, 2)]


@pytest.mark.parametrize("given", [[WIDE], WIDE], ids=["list of one shape", "one shape"])
def test_the_custom_operator_sees_the_shape(result, monkeypatch, given):
    seen = []
    forward = custom_operations.CustomAddOne.forward

    def recorded(self, is_train, req, in_data, out_data, aux):
        seen.append([array.shape for array in in_data])
        forward(self, is_train, req, in_data, out_data, aux)

    monkeypatch.setattr(custom_operations.CustomAddOne, "forward", recorded)
    shown = result(nd.Custom, {"data": given, "op_type": "CustomAddOne"}, run_backward=False)
    assert "status" not in shown, shown
    assert seen
    assert all(shapes == [WIDE] for shapes in seen)


def test_arrays_and_shapes_may_be_mixed(result, recording):
    wrapped = recording(nd.add_n)
    shown = result(wrapped, {"args": [nd.ones((4, 5)), np.ones((4, 5)), (4, 5)]}, warmup=0)
    assert "status" not in shown, shown
    assert all(shapes == [(4, 5)] * 3 for shapes in wrapped.seen)


def test_lists_of_arrays_of_the_numpy_interface(result):
    shown = result(mx.np.concatenate, {"seq": [(128, 4), (64, 4)], "axis": 0}, run_backward=False)
    assert shown[MEMORY] == pytest.approx((128 + 64) * 4 * 4 / 1000, abs=5e-4)


def shapes_of_lists(case):
    return [
        [one.shape for one in value]
        for value in case.arguments.values()
        if isinstance(value, tuple) and value and isinstance(value[0], TensorSpec)
    ]


@pytest.mark.parametrize("name", ["add_n", "Custom", "multi_sum_sq", "amp_multicast"])
def test_the_rules_lists_are_over_a_million_elements(cases, name):
    lists = [shapes for case in cases(name, size="default") for shapes in shapes_of_lists(case)]
    assert any(math.prod(shape) >= math.prod(WIDE) for shapes in lists for shape in shapes)


@pytest.mark.parametrize("name", ["add_n", "khatri_rao", "multi_sum_sq", "amp_multicast"])
def test_the_rules_lists_hold_several_tensors(cases, name):
    assert all(
        len(shapes) > 1 for case in cases(name, size="default") for shapes in shapes_of_lists(case)
    )


@pytest.mark.parametrize("name", ["khatri_rao", "amp_multicast", "add_n"])
def test_what_the_rules_plan_is_what_comes_out(cases, outputs, name):
    for case in cases(name):
        (shapes,) = shapes_of_lists(case)
        expected = {
            "khatri_rao": lambda s: [(math.prod(rows for rows, _ in s), s[0][1])],
            "amp_multicast": lambda s: s,
            "add_n": lambda s: s[:1],
        }[name](shapes)
        assert [array.shape for array in outputs(case)] == expected


def test_the_dtype_asked_for_is_that_of_every_tensor_of_a_list(record):
    for dtype in ("float32", "float64"):
        made = record(nd.amp_multicast, {"data": [(4, 4), (4, 4)], "num_outputs": 2}, dtype=dtype)
        assert {spec.dtype for _, spec in made.case.tensors()} == {dtype}


@pytest.mark.parametrize(
    "name, shapes", [("gather_nd", {"data": (4, 5)}), ("_sparse_retain", {"data": (3, 7)})]
)
def test_indices_stay_in_range_of_what_is_beside_them(framework, outputs, name, shapes):
    """MXNet refuses those of `gather_nd` otherwise, and writes where it should not for others."""
    selection = Selection(patterns=(name,), size="small", shapes=shapes)
    made = plan(framework, resolve_selection(selection, partial(resolve, framework))).cases
    assert made
    for case in made:
        with framework.scope(case):
            indices = PreparedCase(case, framework).arguments["indices"].asnumpy()
        assert case.arguments["data"].shape == shapes["data"]
        assert indices.min() >= 0 and indices.max() < min(shapes["data"])
        assert outputs(case)
