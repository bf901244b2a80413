"""JAX's devices by the names that users know."""

import re

import pytest

jax = pytest.importorskip("jax")

from opperf.errors import DeviceError, UsageError  # noqa: E402  (jax may be missing)
from opperf.frameworks.jax import devices  # noqa: E402


@pytest.fixture
def accelerated(monkeypatch):
    """A machine with two GPUs and a TPU."""
    found = {"cpu": ("CPU",), "gpu": ("GPU 0", "GPU 1"), "tpu": ("TPU",)}
    devices.jax_device.cache_clear()
    monkeypatch.setattr(devices, "_of_kind", found.__getitem__)
    yield found
    devices.jax_device.cache_clear()


@pytest.mark.parametrize("text", ["cpu", "cpu(0)", "cpu:0", " CPU ", "CPU(0)"])
def test_names_of_the_cpu(text):
    assert devices.parse(text) == "cpu(0)"
    assert devices.jax_device("cpu(0)").platform == "cpu"


@pytest.mark.parametrize(
    "text, name",
    [
        ("gpu", "gpu(0)"),
        ("gpu(1)", "gpu(1)"),
        ("cuda", "gpu(0)"),
        ("cuda:1", "gpu(1)"),
        ("rocm:0", "gpu(0)"),
        ("tpu(0)", "tpu(0)"),
        ("TPU", "tpu(0)"),
        # As JAX prints it.
        ("GPU 1", "gpu(1)"),
    ],
)
@pytest.mark.usefixtures("accelerated")
def test_names_of_accelerators(text, name):
    assert devices.parse(text) == name


def test_what_jax_prints_of_a_device_is_its_name():
    assert devices.parse(str(jax.devices("cpu")[0])) == "cpu(0)"


def test_all_devices_are_listed_with_the_cpu_first(accelerated):
    assert devices.devices() == ("cpu(0)", "gpu(0)", "gpu(1)", "tpu(0)")
    assert devices.jax_device("gpu(1)") == accelerated["gpu"][1]


def test_the_cpu_is_always_there():
    assert devices.devices()[0] == "cpu(0)"


@pytest.mark.parametrize("text", ["npu", "gpu(", "gpu(a)", "cuda:0:1", "cpu0", "", "gpu(-1)"])
def test_an_unknown_device_is_one_line(text):
    with pytest.raises(UsageError, match=re.escape(f"unknown device {text!r}; use one of cpu(0)")):
        devices.parse(text)


@pytest.mark.parametrize("text", ["gpu(7)", "cuda:7", "tpu(7)", "cpu(4096)"])
def test_an_absent_device_is_one_line(text):
    with pytest.raises(DeviceError, match=rf"^{re.escape(text)}: this build of JAX .* use one"):
        devices.parse(text)


@pytest.mark.parametrize(
    "stats, free", [({"bytes_limit": 1000, "bytes_in_use": 400}, 600), ({}, None), (None, None)]
)
def test_free_memory_is_the_devices_or_the_machines(monkeypatch, stats, free):
    class Device:
        def memory_stats(self):
            return stats

    monkeypatch.setattr(devices, "jax_device", lambda name: Device())
    found = devices.free_memory("gpu(0)")
    assert found == free if free is not None else found > 0
