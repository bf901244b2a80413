"""A native time is the operator's kernels: above zero, within what a user waits for."""

import math

import mxnet as mx
import pytest
from mxnet import nd

from opperf.custom_operations import custom_operations

RUNS = 5
TURNS = 3

SHARE = 1.25
SLACK_NS = 50_000
"""What a native median may be above a Python one, measured a moment later on a busy machine."""

CALLS = {
    "relu": (nd.relu, {"data": (512, 512)}),
    "cast": (nd.cast, {"data": (512, 512), "dtype": "float64"}),
    "Cast": (nd.Cast, {"data": (512, 512), "dtype": "int32"}),
    "dot": (nd.dot, {"lhs": (256, 256), "rhs": (256, 256)}),
    "Custom": (nd.Custom, {"data": [(512, 512)], "op_type": "CustomAddOne"}),
    "sort": (nd.sort, {"data": (128, 128)}),
    "split": (nd.split, {"data": (256, 256), "num_outputs": 4}),
    "broadcast_add": (nd.broadcast_add, {"lhs": (256, 256), "rhs": (1, 256)}),
    "np.tanh": (mx.np.tanh, {"x": (256, 256)}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_native_time_is_above_zero_and_within_the_python_time(record, name):
    function, inputs = CALLS[name]
    quickest = {}
    # In turns, and the quickest of each: a core that slows down while one is measured doubles it.
    for profiler in ("native", "python") * TURNS:
        made = record(function, inputs, profiler=profiler, warmup=2, runs=RUNS)
        assert made.status.value == "ok", made.reason
        for direction in set(made.summaries) & {"forward", "backward"}:
            assert made.summaries[direction].mean > 0
            times = quickest.setdefault(direction, {})
            times[profiler] = min(made.summaries[direction].median, times.get(profiler, math.inf))
    both = [times for times in quickest.values() if len(times) == 2]
    assert both
    for times in both:
        assert times["native"] <= times["python"] * SHARE + SLACK_NS


@pytest.mark.parametrize("profiler", ["native", "python"])
def test_there_is_a_sample_for_every_run(record, profiler):
    made = record(nd.exp, {"data": (64, 64)}, profiler=profiler, runs=4)
    assert {len(samples) for samples in made.samples.values()} == {4}
    assert {summary.n for name, summary in made.summaries.items() if "memory" not in name} == {4}


@pytest.mark.parametrize("profiler", ["native", "python"])
def test_the_total_is_forward_and_backward(record, profiler):
    made = record(nd.dot, {"lhs": (128, 128), "rhs": (128, 128)}, profiler=profiler)
    summaries = made.summaries
    assert summaries["total"].mean > summaries["backward"].mean
    assert made.samples["total"] != made.samples["forward"]


def forward_and_backward(n):
    """A call of little work whose backward pass is n times as much."""

    class Costly(mx.autograd.Function):
        def forward(self, data):
            return data * 1

        def backward(self, head):
            gradient = head
            for _ in range(n):
                gradient = gradient * 1.5
            return gradient

    def function(data):
        return Costly()(data)

    return function


@pytest.mark.parametrize("profiler", ["native", "python"])
def test_forward_does_not_take_in_the_backward_pass(record, profiler):
    made = record(forward_and_backward(20), {"data": (256, 256)}, profiler=profiler)
    assert made.status.value == "ok", made.reason
    forward, backward = made.summaries["forward"], made.summaries["backward"]
    assert backward.median > 3 * forward.median


@pytest.mark.parametrize("profiler", ["native", "python"])
def test_backward_does_not_take_in_the_forward_pass(record, profiler):
    def function(data):
        grown = data
        with mx.autograd.pause():
            for _ in range(20):
                grown = grown * 0.5
        return data + grown

    made = record(function, {"data": (256, 256)}, profiler=profiler)
    assert made.status.value == "ok", made.reason
    forward, backward = made.summaries["forward"], made.summaries["backward"]
    assert forward.median > 3 * backward.median


def test_a_custom_operators_time_is_that_of_its_parts(record, monkeypatch):
    quick = record(*CALLS["Custom"], run_backward=False)

    def forward(self, is_train, req, in_data, out_data, aux):
        result = in_data[0]
        for _ in range(30):
            result = result * 0.5
        self.assign(out_data[0], req[0], result + 1)

    monkeypatch.setattr(custom_operations.CustomAddOne, "forward", forward)
    slow = record(*CALLS["Custom"], run_backward=False)
    assert slow.status.value == "ok", slow.reason
    assert slow.summaries["forward"].median > 5 * quick.summaries["forward"].median > 0


def test_what_runs_no_kernel_says_so(record):
    made = record(lambda data: data, {"data": (8, 8)}, run_backward=False)
    assert made.status.value == "ok", made.reason
    assert "forward" not in made.summaries
    assert "kernel" in made.notes["forward"]


def test_the_wall_clock_sees_what_the_profiler_does_not(record):
    made = record(lambda data: data, {"data": (8, 8)}, profiler="python", run_backward=False)
    assert made.summaries["forward"].median > 0


def test_a_larger_input_takes_longer(record):
    times = [
        record(nd.exp, {"data": (n, n)}, run_backward=False, runs=RUNS).summaries["forward"].median
        for n in (64, 1024)
    ]
    assert times[1] > 2 * times[0]
