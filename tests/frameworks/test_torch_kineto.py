"""Kernel times from the events of PyTorch's profiler."""

import itertools
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from opperf.errors import ProfilerError, UnsupportedError  # noqa: E402  (torch may be missing)
from opperf.frameworks import recording  # noqa: E402
from opperf.frameworks.recording import (  # noqa: E402
    OWN_SHARE,
    EventCost,
    Union,
    less_recording,
    union,
    unions_in,
)
from opperf.frameworks.torch import kineto, private  # noqa: E402
from opperf.frameworks.torch.kineto import MARKER, NativeProfiler, event_ns, read_trace  # noqa: E402  # noqa: E402
from opperf.model import MetricKind  # noqa: E402


class Event:
    def __init__(self, kind, name, begin, end):
        self._fields = kind, name, begin, end

    def activity_type(self):
        return self._fields[0]

    def name(self):
        return self._fields[1]

    def start_ns(self):
        return self._fields[2]

    def end_ns(self):
        return self._fields[3]


class Result:
    def __init__(self, events):
        self._events = events

    def events(self):
        return self._events


def test_events_are_told_apart_by_kind_and_sorted():
    events = [
        Event("cpu_op", "aten::add", 30, 40),
        Event("cpu_op", MARKER, 10, 50),
        Event("cpu_op", "aten::mul", 20, 25),
        Event("user_annotation", "step", 11, 49),
        Event("python_function", "forward", 11, 49),
        Event("cuda_runtime", "cudaLaunchKernel", 22, 23),
        Event("gpu_user_annotation", "step", 60, 99),
        Event("gpu_memset", "Memset (Device)", 70, 71),
        Event("kernel", "add_kernel", 60, 65),
        Event("gpu_memcpy", "Memcpy DtoD", 66, 69),
    ]
    trace = read_trace(events)
    assert trace.calls == [(10, 50)]
    assert trace.host == [(20, 25), (30, 40)]
    assert trace.device == [(60, 65), (66, 69), (70, 71)]


def test_the_code_around_a_compiled_graph_does_not_count():
    events = [
        Event("cpu_op", "TorchDynamo Cache Lookup", 0, 9),
        Event("cpu_op", "Torch-Compiled Region: 0/0", 10, 50),
        Event("cpu_op", "## Call CompiledFxGraph fx ##", 20, 30),
    ]
    assert read_trace(events).host == [(20, 30)]


@pytest.mark.parametrize(
    ("intervals", "found"),
    [
        ([], Union(0)),
        ([(10, 30)], Union(20, 1, 1)),
        ([(10, 30), (30, 35)], Union(25, 2, 2)),
        ([(10, 30), (12, 20), (14, 16), (22, 30)], Union(20, 4, 1)),
        # Two streams, of which one ends later.
        ([(10, 30), (20, 50)], Union(40, 2, 1)),
        ([(10, 10)], Union(0, 1, 1)),
    ],
)
def test_nested_and_simultaneous_events_count_once(intervals, found):
    assert union(intervals) == found


def test_an_event_belongs_to_the_call_in_which_it_begins():
    calls = [(10, 20), (30, 40), (50, 60)]
    events = [(0, 5), (10, 12), (20, 21), (25, 28), (31, 45), (48, 49), (70, 71)]
    assert unions_in(calls, events) == [Union(3, 2, 2), Union(14, 1, 1), Union(0)]


def test_the_cost_of_recording_is_subtracted_and_never_more():
    gru = Union(633_000, 753, 1)
    assert less_recording(gru, 400.0, 633_000) == 633_000 - 400 * (752 + OWN_SHARE)
    assert less_recording(Union(50, 2, 1), 400.0, 50) == 0.0
    assert less_recording(Union(0), 400.0, 50) == 0.0


def test_an_operator_takes_at_most_the_time_of_its_call():
    taken = recording.Taken()
    taken.add(1500, Union(1400, 3, 3), 100.0)
    assert taken.walls == [1500 - 4 * 100] == taken.times
    # The device's work is no event of the host, and recording does not lengthen it.
    taken.add(1500, Union(100, 3, 1), 100.0, Union(1400, 2, 2))
    assert taken.walls[1] == 1100
    assert taken.times[1] == 1400


def profile_made(monkeypatch, device_events, device="cpu", phases=1):
    """Times of two calls of each phase, from events that are made here."""
    host = [
        Event("cpu_op", MARKER if step == 0 else "aten::add", 1000 * call + 10 * step, end)
        for call in range(1, 2 * phases + 1)
        for step, end in enumerate([1000 * call + 500, 1000 * call + 100 * call, 1000 * call + 30])
    ]
    monkeypatch.setattr(kineto, "event_ns", lambda: 0.5)
    monkeypatch.setattr(recording, "FIRST_CALLS", 2)
    # Every call takes longer than its events.
    monkeypatch.setattr(kineto, "perf_counter_ns", itertools.count(0, 10_000).__next__)

    class Made:
        def __enter__(self):
            return [Result(host + device_events)]

        def __exit__(self, *error):
            pass

    profiler = NativeProfiler("cpu(0)")
    monkeypatch.setattr(kineto, "record", lambda activities: Made())
    profiler._on_host = device == "cpu"
    return profiler.trace([lambda: None] * phases, 2)


def test_the_phases_of_a_call_take_turns(monkeypatch):
    first, second = profile_made(monkeypatch, [], phases=2)
    # Calls of 90, 190, 290 and 390 ns, each with a nested event.
    assert first.times == pytest.approx([90 - 0.6, 290 - 0.6])
    assert second.times == pytest.approx([190 - 0.6, 390 - 0.6])
    assert first.recording.events == 2
    assert first.recording.share == pytest.approx(0.6 / 190)


def test_a_large_cost_is_measured_on_the_case_itself():
    cost = EventCost(100.0)
    assert not cost.is_large([Union(100_000, 10, 1)])
    calls = [Union(95_000, 99, 1)] * 3
    assert cost.is_large(calls)
    # 99 events and the marker; the second call was interrupted.
    cost.add([100_000, 193_300, 100_000], [80_000, 80_000, 85_500], calls)
    assert cost.ns == pytest.approx((100_000 - 80_000) / 100)
    cost.add([100_000] * 4, [1_000] * 4, [Union(95_000, 99, 1)] * 4)
    assert cost.ns == recording.MOST_TIMES * 100


@pytest.mark.parametrize(("length", "ns"), [(9_500, 400.0), (8_500, 200.0)])
def test_the_cost_is_not_the_cases_own_where_much_of_a_call_is_beside_its_events(length, ns):
    cost = EventCost(200.0)
    cost.add([10_000], [6_000], [Union(length, 9, 1)])
    assert cost.ns == ns


def has_many_events(cost, calls):
    """Stands in for a comparison of times, which another load may decide differently."""
    return any(call.events > 100 for call in calls)


def test_each_phase_has_a_cost_of_its_own(monkeypatch):
    data, product = torch.zeros(101), torch.ones(500, 500)
    added = []
    add = EventCost.add

    def counted(cost, recorded, plain, calls):
        added.append((cost, len(recorded), len(plain), {call.events > 100 for call in calls}))
        return add(cost, recorded, plain, calls)

    monkeypatch.setattr(EventCost, "add", counted)
    monkeypatch.setattr(EventCost, "is_large", has_many_events)
    trace(data.unbind, lambda: product @ product, count=1)
    (first, *counts), (second, *others) = added
    assert first is not second
    assert (counts, others) == ([1, 1, {True}], [1, 1, {False}])


@pytest.mark.parametrize(("steps", "each"), [(300, 2), (0, 1)])
def test_calls_whose_recording_takes_long_alternate_with_others(monkeypatch, steps, each):
    monkeypatch.setattr(EventCost, "is_large", has_many_events)
    data, big, calls = torch.zeros(steps + 1), torch.ones(1000, 1000), 0

    def work():
        nonlocal calls
        calls += 1
        if steps:
            data.unbind()
        else:
            torch.sort(big)

    (timed,) = trace(work, count=4)
    assert len(timed.times) == 4
    # What the first one shows is not a sample, where the others are of another kind.
    assert calls == 4 * each + (each - 1)


def test_an_event_costs_no_less_than_nothing():
    cost = EventCost(100.0)
    cost.add([500], [800], [Union(500, 10, 1)])
    assert cost.ns == 0


def test_events_in_a_row_may_cost_less_than_alone():
    cost = EventCost(100.0)
    cost.add([1440], [1000], [Union(1400, 10, 1)])
    assert cost.ns == 40


def test_on_a_gpu_the_work_of_the_device_counts(monkeypatch):
    kernels = [
        Event("gpu_memset", "Memset (Device)", 5, 6),
        Event("kernel", "add", 1100, 1150),
        Event("kernel", "add", 1140, 1160),
        Event("gpu_memcpy", "Memcpy DtoH", 2200, 2210),
    ]
    (timed,) = profile_made(monkeypatch, kernels, device="cuda")
    assert timed.times == [60, 10] and timed.recording.share == 0


def test_a_call_without_kernels_on_a_gpu_has_no_time(monkeypatch):
    (timed,) = profile_made(monkeypatch, [Event("gpu_memset", "Memset", 5, 6)], device="cuda")
    assert timed.times == [] and len(timed.walls) == 2


@pytest.mark.parametrize("kernels", [[], [Event("kernel", "add", 1100, 1150)]])
def test_a_gpu_whose_work_is_not_recorded_is_an_error(monkeypatch, kernels):
    with pytest.raises(ProfilerError, match="recorded no work on .*CUPTI"):
        profile_made(monkeypatch, kernels, device="cuda")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trace(*phases, count=5, loops=1):
    return NativeProfiler("cpu(0)").trace(phases, count, loops)


def test_a_call_of_nested_operators_is_its_outermost_event():
    weight, data = torch.ones(3, 3), torch.ones(4, 3)
    linear = lambda: torch.nn.functional.linear(data, weight)  # noqa: E731
    (timed,) = trace(linear, count=4, loops=3)
    assert len(timed.times) == len(timed.walls) == 4 and len(timed.calls) == 12
    assert min(timed.times) >= 0
    # aten::linear, and those that it calls.
    assert timed.recording.events > 3 and timed.recording.share > 0


def test_the_backward_pass_is_a_phase_of_its_own():
    data = torch.ones(5, requires_grad=True)
    outputs = []

    def forward():
        outputs[:] = [torch.exp(data)]

    def backward():
        return torch.autograd.grad(outputs, [data], [torch.ones(5)])

    forward_times, backward_times = trace(forward, backward)
    assert len(forward_times.times) == len(backward_times.times) == 5
    assert forward_times.recording.events == 1
    # The node, its function and the product inside; and the head gradients.
    assert backward_times.recording.events > 3


def test_a_phase_that_runs_no_operator_has_no_times():
    nothing, add = trace(lambda: None, lambda: torch.ones(2) + 1)
    assert nothing.times == [] and len(nothing.walls) == 5
    assert len(add.times) == 5


def test_calls_are_recorded_a_part_at_a_time(monkeypatch):
    monkeypatch.setattr(recording, "MOST_EVENTS", 20)
    monkeypatch.setattr(recording, "FIRST_CALLS", 10)
    sizes = []
    read = kineto.read_trace

    def counted(events):
        sizes.append(len(events))
        return read(events)

    event_ns()
    monkeypatch.setattr(kineto, "read_trace", counted)
    data = torch.ones(2)
    (timed,) = trace(data.exp, count=35)
    assert len(timed.times) == 35
    # The first ten calls show how many events there are, each call's own and its marker and those
    # of calls that are not timed; and that recording is a large part of so short a call.
    assert sizes == [22, 19, 19, 19, 17]


def test_a_trace_without_the_markers_is_an_error():
    event_ns()
    private.ENABLE_RECORDING.get()(False)
    try:
        with pytest.raises(ProfilerError, match="did not record the calls.*--profiler python"):
            trace(lambda: torch.ones(2) + 1)
    finally:
        private.ENABLE_RECORDING.get()(True)


def test_an_error_of_a_phase_ends_the_recording():
    def refuse():
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        trace(refuse)
    assert not torch._C._autograd._profiler_enabled()
    assert not torch.autograd.profiler._is_profiler_enabled
    assert trace(torch.ones(2).exp)[0].times


def test_an_event_costs_less_than_an_interpreted_call():
    assert 0 < event_ns() < 100_000


def test_a_device_that_kineto_does_not_record_is_unsupported():
    with pytest.raises(UnsupportedError, match="no work on mps.*--profiler python"):
        NativeProfiler("mps(0)")


def test_its_times_are_of_kernels():
    assert NativeProfiler("cpu(0)").kind is MetricKind.KERNEL


def test_the_profiler_prints_nothing():
    code = (
        "from opperf.frameworks.torch.kineto import NativeProfiler; import torch; "
        "NativeProfiler('cpu(0)').trace([torch.ones(2).exp], 3)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
