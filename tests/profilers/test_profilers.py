"""Profilers by name."""

from importlib.metadata import EntryPoint

import pytest

from opperf import profilers
from opperf.errors import UsageError
from opperf.frameworks.defaults import Defaults
from opperf.model import MetricKind
from opperf.profilers import find_profilers, profiler
from opperf.profilers.python import PythonTimer


class Some(Defaults):
    """A framework with profilers of its own, which remembers the devices it waited for."""

    name = "some"

    def __init__(self, *own):
        self.own, self.waited = own, []

    def profilers(self):
        return {name: lambda device, name=name: f"{name} of {device}" for name in self.own}

    def synchronize(self, device):
        self.waited.append(device)


@pytest.fixture
def installed(monkeypatch):
    """Installs entry points for profilers."""
    entries = []
    profilers._installed.cache_clear()
    monkeypatch.setattr(profilers, "entry_points", lambda group: entries)

    def install(name, value):
        entries.append(EntryPoint(name, value, profilers.GROUP))

    yield install
    profilers._installed.cache_clear()


def make_added(framework, device):
    return f"added for {framework.name} on {device}"


def test_a_frameworks_own_come_before_the_wall_clock():
    assert list(find_profilers(Some("native", "perf"))) == ["native", "perf", "python"]
    assert profiler("perf", Some("native", "perf"), "gpu(1)") == "perf of gpu(1)"


def test_the_python_timer_waits_for_the_device():
    some = Some("native")
    timer = profiler("python", some, "gpu(1)")
    assert isinstance(timer, PythonTimer) and timer.kind is MetricKind.WALL
    timer.trace([lambda: None], 2)
    assert some.waited == ["gpu(1)"] * 2


@pytest.mark.parametrize("name", ["native", "pyton", "other"])
def test_what_a_framework_does_not_offer_is_refused(name):
    with pytest.raises(UsageError, match=f"unknown profiler '{name}'.*; some has: python"):
        profiler(name, Some(), "cpu(0)")


def test_another_package_adds_a_profiler_for_every_framework(installed):
    installed("added", f"{__name__}:make_added")
    assert list(find_profilers(Some("native"))) == ["native", "python", "added"]
    assert profiler("added", Some(), "cpu(0)") == "added for some on cpu(0)"


def test_a_name_that_is_taken_stays_the_frameworks(installed):
    installed("native", f"{__name__}:make_added")
    installed("python", f"{__name__}:make_added")
    assert list(find_profilers(Some("native"))) == ["native", "python"]
    assert profiler("native", Some("native"), "cpu(0)") == "native of cpu(0)"


@pytest.mark.parametrize("value", ["no_such_package:make", f"{__name__}:not_there"])
def test_a_profiler_that_cannot_be_loaded_is_refused_with_what_to_do(installed, value):
    installed("added", value)
    with pytest.raises(UsageError, match=f"the profiler {value}, .* reinstall its package"):
        profiler("added", Some(), "cpu(0)")
