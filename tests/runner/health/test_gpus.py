"""The finding on GPUs, from a fake library."""

import pytest
from fake_nvml import fake_nvml, refuse

from opperf.installing import install_command
from opperf.runner.health import gpus
from opperf.runner.health.examine import examine

DRIVER = {f"proc/{gpus.DRIVER}": "NVRM version: 1"}


@pytest.fixture
def found(faked, monkeypatch):
    """The finding with a library, on a machine with these files."""

    def read(library, files=DRIVER):
        monkeypatch.setattr(gpus, "nvidia_library", lambda: library)
        (one,) = examine(faked(files), gpus.PROBES)
        return one.level, one.state

    return read


def test_a_machine_without_a_driver_has_none(found):
    assert found(fake_nvml([(1, 1, 0)]), {}) == ("ok", "no NVIDIA driver")


def test_the_package_is_named_where_it_is_missing(found):
    level, state = found(None)
    assert level == "unknown" and install_command("opperf[gpu]") in state


def test_lowered_clocks_are_a_warning(found):
    assert found(fake_nvml([(1410, 84, 0x40)])) == (
        "warn",
        "1410 MHz, 84 °C, hardware thermal slowdown",
    )


def test_an_idle_gpu_is_fine(found):
    assert found(fake_nvml([(345, 30, 0x1)])) == ("ok", "345 MHz, 30 °C, idle")


def test_what_a_gpu_does_not_report_is_missing(found):
    nvml = fake_nvml([(1, 1, 0)], nvmlDeviceGetClockInfo=refuse, nvmlDeviceGetTemperature=refuse)
    assert found(nvml) == ("ok", "nothing reported")


def test_a_gpu_that_cannot_be_read_is_unknown(found):
    level, state = found(fake_nvml([(1, 1, 0)], nvmlDeviceGetHandleByIndex=refuse))
    assert level == "unknown" and "no GPU" in state
