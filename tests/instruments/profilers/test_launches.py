"""The time of an empty kernel, and notes on times that are hardly longer."""

from pathlib import Path

import pytest

from opperf.frameworks import Framework
from opperf.frameworks.timing import PhaseTimes
from opperf.instruments.profilers import reference_work
from opperf.instruments.profilers.reference_work import LAUNCH_BOUND, launch_ns
from opperf.model import Case, MetricKind, NoteCode, OperatorTarget, Settings, TensorSpec
from opperf.worker.measure import measure

TOY = Path(__file__).parents[2] / "toy_framework"
CHIP = "gpu(0)"


@pytest.fixture
def framework(monkeypatch):
    """The toy with a queue, nothing of which was measured before."""
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setattr(reference_work, "_TIMES", {})
    import toy_queue

    return toy_queue.ToyQueue()


class Fixed:
    """Returns its next time for every trace, and keeps how it was called."""

    kind = MetricKind.WALL
    resolution_ns = 1.0

    def __init__(self, *times):
        self.times, self.traces = list(times), []

    def trace(self, phases, count, loops=1):
        self.traces.append((len(phases), loops))
        times = [self.times.pop(0)] * count if self.times else []
        return [PhaseTimes(times, times, times)]


def test_the_time_is_measured_once_for_each_way_to_wait(framework):
    timer = Fixed(3000.0, 9000.0)
    for _ in range(2):
        assert launch_ns(framework, CHIP, "python", timer, queued=True) == 3000.0
        assert launch_ns(framework, CHIP, "python", timer, queued=False) == 9000.0
    assert timer.traces == [(1, reference_work.LAUNCHES), (1, 1)]


def test_each_profiler_has_its_own_time(framework):
    assert launch_ns(framework, CHIP, "python", Fixed(3000.0), queued=False) == 3000.0
    assert launch_ns(framework, CHIP, "native", Fixed(1000.0), queued=False) == 1000.0


def test_a_synchronous_device_has_none(framework):
    assert launch_ns(framework, "cpu(0)", "python", Fixed(3000.0), queued=False) is None


def test_a_framework_without_an_empty_kernel_has_none(framework, monkeypatch):
    none = Framework().queues.empty_kernel
    monkeypatch.setattr(framework.queues, "empty_kernel", none)
    assert launch_ns(framework, CHIP, "python", Fixed(3000.0), queued=False) is None


def test_a_kernel_that_the_profiler_does_not_see_has_none(framework):
    assert launch_ns(framework, CHIP, "native", Fixed(), queued=False) is None


def test_the_time_is_that_of_the_empty_kernel(framework):
    timer = framework.profilers.own()["toy"](CHIP)
    assert launch_ns(framework, CHIP, "toy", timer, queued=False) == framework.empty_ns


def case(profiler):
    return Case(
        OperatorTarget("toyqueue", "scale"),
        {"data": TensorSpec((4,), "float64")},
        Settings(device=CHIP, dtype="float64", profiler=profiler, memory=False, runs=5),
        passes=("forward",),
    )


@pytest.mark.parametrize("profiler", ["toy", "events"])
@pytest.mark.parametrize("empty_ns", [90.0, 70.0])
def test_a_time_close_to_that_of_an_empty_kernel_has_a_note(framework, profiler, empty_ns):
    call_ns = 100.0
    framework.empty_ns = empty_ns
    note = measure(case(profiler), framework).note("forward", NoteCode.LAUNCH_BOUND)
    assert (note is not None) == (call_ns / empty_ns < LAUNCH_BOUND)


def test_the_note_has_the_ratio(framework):
    framework.empty_ns = 90.0
    note = measure(case("toy"), framework).note("forward", NoteCode.LAUNCH_BOUND)
    assert note.message == (
        "takes 1.1 times as long as an empty kernel on gpu(0) (0.1 us): the time is that of a "
        "launch, and is not ranked"
    )
