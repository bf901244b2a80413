"""A native time is the operator's kernels, of the pass that is timed and no other.

That it is in proportion to the work, and below what a user waits for, is a matter of real times:
`benchmarks/timers/profilers.py`.
"""

import mxnet as mx
import numpy as np
import pytest
from mxnet import nd

from opperf.custom_operations import custom_operations
from opperf.frameworks import load, recording
from opperf.frameworks.mxnet import trace
from opperf.frameworks.recording import Union
from opperf.instruments.profilers import python
from opperf.model import NoteCode

RUNS = 5

KERNEL_NS = 1000.0
"""What a kernel takes when kernels are counted: the step of the profiler's clock."""

ENDS_NS = 1000.0
"""What a kernel's time may be above that of the call around it: its ends are told in whole
microseconds."""

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


@pytest.fixture
def kernels_counted(monkeypatch):
    """Every kernel takes a microsecond, however long it took."""
    monkeypatch.setattr(recording, "union", lambda inside: Union(len(inside), len(inside)))


class Clock:
    """A clock that only `work` moves on."""

    now = 0

    def __call__(self):
        return self.now

    def work(self, ns):
        self.now += ns


@pytest.fixture
def clock(monkeypatch):
    """The Python timer's clock."""
    made = Clock()
    monkeypatch.setattr(python, "overhead_ns", lambda waits: 0.0)
    monkeypatch.setattr(python, "resolution_ns", lambda: 1.0)
    monkeypatch.setattr(python, "perf_counter_ns", made)
    return made


@pytest.mark.parametrize("name", CALLS)
def test_a_native_time_is_within_the_call_it_was_taken_in(name):
    function, inputs = CALLS[name]
    ones = mx.np.ones if name.startswith("np.") else nd.ones

    def drawn(value):
        """Arrays for shapes, as in the inputs of a call."""
        if isinstance(value, list):
            return [drawn(one) for one in value]
        return ones(value) if isinstance(value, tuple) else value

    given = {n: drawn(value) for n, value in inputs.items()}
    listed = given.pop("data") if isinstance(given.get("data"), list) else []
    (timed,) = trace.NativeProfiler().trace([lambda: function(*listed, **given)], RUNS)
    assert len(timed.times) == len(timed.walls) == RUNS
    for kernels, wall in zip(timed.times, timed.walls, strict=True):
        assert 0 <= kernels <= wall + ENDS_NS


@pytest.mark.parametrize("name", CALLS)
def test_every_call_has_a_kernel(record, kernels_counted, name):
    function, inputs = CALLS[name]
    made = record(function, inputs, runs=RUNS)
    assert made.status.value == "ok", made.reason
    assert min(made.samples["forward"]) >= KERNEL_NS


@pytest.mark.parametrize("profiler", ["native", "python"])
def test_there_is_a_sample_for_every_run(record, profiler):
    made = record(nd.exp, {"data": (64, 64)}, profiler=profiler, runs=4)
    assert {len(samples) for samples in made.samples.values()} == {4}
    assert {made.summaries[name].n for name in made.samples} == {4}


@pytest.mark.parametrize("profiler", ["native", "python"])
def test_the_total_is_forward_and_backward(record, profiler):
    made = record(nd.dot, {"lhs": (128, 128), "rhs": (128, 128)}, profiler=profiler)
    pairs = zip(made.samples["total"], made.samples["backward"], strict=True)
    assert all(total >= backward for total, backward in pairs)
    assert made.samples["total"] != made.samples["forward"]


STEPS = 20


def costly(forward_steps, backward_steps, work=lambda ns: None):
    """A call of so many kernels in each pass, which tells `work` of a microsecond for each."""

    def stepped(data, count):
        for _ in range(count):
            data = data * 0.5
            work(KERNEL_NS)
        return data

    class Costly(mx.autograd.Function):
        def forward(self, data):
            return stepped(data, forward_steps)

        def backward(self, head):
            return stepped(head, backward_steps)

    return lambda data: Costly()(data)


def passes_of(record, function, **options):
    """The one time that all samples of each pass are of."""
    made = record(function, {"data": (64, 64)}, runs=RUNS, **options)
    assert made.status.value == "ok", made.reason
    (forward,), (backward,) = (set(made.samples[name]) for name in ("forward", "backward"))
    return forward, backward


def test_kernels_are_those_of_their_pass(record, kernels_counted):
    """Each pass has the function's own kernels besides."""
    least = passes_of(record, costly(1, 1))
    more = (STEPS - 1) * KERNEL_NS
    assert passes_of(record, costly(STEPS, 1)) == (least[0] + more, least[1])
    assert passes_of(record, costly(1, STEPS)) == (least[0], least[1] + more)


@pytest.mark.parametrize("forward, backward", [(1, STEPS), (STEPS, 1)])
def test_a_users_wait_is_that_for_its_pass(record, clock, forward, backward):
    times = passes_of(record, costly(forward, backward, clock.work), profiler="python")
    assert times == (forward * KERNEL_NS, backward * KERNEL_NS)


def test_a_custom_operators_time_is_that_of_its_parts(record, kernels_counted, monkeypatch):
    (quick,) = set(record(*CALLS["Custom"], run_backward=False).samples["forward"])

    def forward(self, is_train, req, in_data, out_data, aux):
        result = in_data[0]
        for _ in range(STEPS):
            result = result * 0.5
        self.assign(out_data[0], req[0], result + 1)

    monkeypatch.setattr(custom_operations.CustomAddOne, "forward", forward)
    (slow,) = set(record(*CALLS["Custom"], run_backward=False).samples["forward"])
    assert slow == quick + STEPS * KERNEL_NS


def test_what_runs_no_kernel_says_so(record):
    made = record(lambda data: data, {"data": (8, 8)}, run_backward=False)
    assert made.status.value == "ok", made.reason
    assert "forward" not in made.summaries
    noted = made.note("forward", NoteCode.NO_KERNEL)
    assert noted is not None and noted.message.endswith("views of its inputs")


def test_what_another_library_computes_is_said_to_be_unseen(record):
    made = record(
        lambda data: float(np.sort(np.arange(9.0))[0]), {"data": (8, 8)}, run_backward=False
    )
    noted = made.note("forward", NoteCode.NO_KERNEL)
    assert noted is not None and "native sees no kernel in calls of" in noted.message


def test_the_wall_clock_sees_what_the_profiler_does_not(record, clock):
    def function(data):
        clock.work(KERNEL_NS)
        return data

    options = {"profiler": "python", "run_backward": False, "runs": RUNS}
    made = record(function, {"data": (8, 8)}, **options)
    assert made.samples["forward"] == [KERNEL_NS] * RUNS


def test_calls_are_queued_together_on_a_gpu_alone():
    framework = load("mxnet")
    assert framework.queues.is_asynchronous("gpu(1)") and not framework.queues.is_asynchronous(
        "cpu(0)"
    )
