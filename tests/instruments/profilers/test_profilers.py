"""Profilers by name."""

from importlib.metadata import EntryPoint

import pytest

from opperf.errors import UsageError
from opperf.frameworks import Framework, capabilities
from opperf.instruments import profilers
from opperf.instruments.profilers import find_profiler, find_profilers, profiler
from opperf.instruments.profilers.python import PythonTimer
from opperf.model import MetricKind
from opperf.sources.choices import is_misspelt, refusal


class Own(capabilities.Profilers):
    def own(self):
        return {
            name: lambda device, name=name: f"{name} of {device}" for name in self.framework.own
        }


class Some(Framework):
    """A framework with profilers of its own, which remembers the devices it waited for."""

    name = "some"
    capabilities = (Own,)

    def __init__(self, *own):
        super().__init__()
        self.own, self.waited = own, []

    def synchronize(self, device):
        self.waited.append(device)


@pytest.fixture
def installed(monkeypatch):
    """Installs entry points for profilers."""
    entries = []
    monkeypatch.setattr(profilers, "declared", lambda group: entries)

    def install(name, value):
        entries.append(EntryPoint(name, value, profilers.GROUP))

    return install


class Added:
    def __init__(self, framework, device):
        self.place = f"{framework.name} on {device}"

    def trace(self, phases, count, loops=1):
        return []


def make_nothing(framework, device):
    return None


NOT_CALLABLE = 5


def test_a_frameworks_own_come_before_the_wall_clock():
    assert list(find_profilers(Some("native", "perf"))) == ["native", "perf", "python"]
    assert profiler("perf", Some("native", "perf"), "gpu(1)") == "perf of gpu(1)"


def test_the_python_timer_waits_for_the_device():
    some = Some("native")
    timer = profiler("python", some, "gpu(1)")
    assert isinstance(timer, PythonTimer) and timer.kind is MetricKind.WALL
    timer.trace([lambda: None], 2)
    assert some.waited == ["gpu(1)"] * 2


def test_there_is_no_wait_where_calls_return_when_they_are_done(monkeypatch):
    done = Some("native")
    monkeypatch.setattr(done.queues, "has_queue", lambda device: device != "cpu(0)")
    for device in ("cpu(0)", "gpu(0)"):
        profiler("python", done, device).trace([lambda: None], 1)
    assert done.waited == ["gpu(0)"]


def test_a_framework_has_a_queue_if_it_can_wait():
    assert Some().queues.has_queue("cpu(0)") and not Framework().queues.has_queue("cpu(0)")


@pytest.mark.parametrize("name", ["native", "pyton", "other"])
def test_what_a_framework_does_not_offer_is_refused(name):
    with pytest.raises(UsageError, match=f"unknown profiler '{name}'.*; some has: python"):
        profiler(name, Some(), "cpu(0)")


def test_events_that_no_device_has_are_refused_with_the_devices():
    words = r"events needs a device .*; some finds cpu\(0\) here; use one of python"
    with pytest.raises(UsageError, match=words):
        profiler("events", Some(), "cpu(0)")


def test_another_package_adds_a_profiler_for_every_framework(installed):
    installed("added", f"{__name__}:Added")
    assert list(find_profilers(Some("native"))) == ["native", "python", "added"]
    assert profiler("added", Some(), "cpu(0)").place == "some on cpu(0)"


def test_a_name_that_is_taken_stays_the_frameworks(installed):
    installed("native", f"{__name__}:Added")
    installed("python", f"{__name__}:Added")
    assert list(find_profilers(Some("native"))) == ["native", "python"]
    assert profiler("native", Some("native"), "cpu(0)") == "native of cpu(0)"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("no_such_package:make", "ModuleNotFoundError.*; fix or reinstall its package"),
        (f"{__name__}:not_there", "AttributeError.*; fix or reinstall its package"),
        ("not_python:make", "SyntaxError.*; fix or reinstall its package"),
        (f"{__name__}:NOT_CALLABLE", "is not callable; fix its package"),
        (__name__, "is not callable; fix its package"),
    ],
)
def test_a_profiler_of_a_broken_package_is_refused_before_a_run(
    installed, monkeypatch, tmp_path, name, fault
):
    (tmp_path / "not_python.py").write_text("def make(:")
    monkeypatch.syspath_prepend(tmp_path)
    installed("added", name)
    with pytest.raises(
        UsageError,
        match=f"{name}, an entry point of the group opperf.profilers, .*{fault}, or remove it",
    ):
        find_profiler("added", Some())
    assert isinstance(refusal(Some(), "profiler", "added"), UsageError)
    assert is_misspelt(Some(), "profiler", "added")


def test_what_is_no_profiler_is_refused(installed):
    installed("added", f"{__name__}:make_nothing")
    with pytest.raises(UsageError, match="returned NoneType, not a Profiler; fix its package"):
        profiler("added", Some(), "cpu(0)")
