"""Back ends by name."""

from types import SimpleNamespace

import pytest

from opperf.errors import UsageError
from opperf.profilers import profiler
from opperf.profilers.python import PythonTimer


def framework(*profilers):
    """One that offers these, and tells the device that it was asked about."""
    waited = []
    return SimpleNamespace(
        name="some",
        profilers=profilers,
        tracer=lambda device: f"tracer of {device}",
        synchronize=waited.append,
        waited=waited,
    )


def test_the_native_one_is_the_frameworks_own():
    assert profiler("native", framework("native", "python"), "gpu(1)") == "tracer of gpu(1)"


def test_the_python_timer_waits_for_the_device():
    some = framework("native", "python")
    timer = profiler("python", some, "gpu(1)")
    assert isinstance(timer, PythonTimer)
    timer.trace([lambda: None], 2)
    assert some.waited == ["gpu(1)"] * 2


@pytest.mark.parametrize("name", ["native", "pyton", "other"])
def test_what_a_framework_does_not_offer_is_refused(name):
    # `other` is offered by a framework that is newer than this opperf.
    with pytest.raises(UsageError, match=f"unknown profiler '{name}'.*; some offers: python"):
        profiler(name, framework("python", "other"), "cpu(0)")
