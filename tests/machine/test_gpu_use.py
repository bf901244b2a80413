"""Use of GPUs, from a fake library."""

from types import SimpleNamespace

import pytest

from opperf.machine import gpus as module
from opperf.machine.gpus import GpuMeter, GpuUse, find_gpu, gpu_names, visible_gpus


class Refused(Exception):
    pass


def refuse(*arguments):
    raise Refused("Not Supported")


def library(**changes):
    functions = {
        "NVMLError": Refused,
        "NVML_TEMPERATURE_GPU": 0,
        "NVML_CLOCK_SM": 1,
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda index: index if index < 2 else refuse(),
        "nvmlDeviceGetHandleByUUID": lambda uuid: 1 if uuid == "GPU-b" else refuse(),
        "nvmlDeviceGetUtilizationRates": lambda handle: SimpleNamespace(gpu=50 * handle),
        "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(used=10 + handle, total=100),
        "nvmlDeviceGetTemperature": lambda handle, kind: 40 + handle,
        "nvmlDeviceGetPowerUsage": lambda handle: 250_000,
        "nvmlDeviceGetClockInfo": lambda handle, kind: 1410,
        "nvmlDeviceGetTotalEnergyConsumption": lambda handle: 5_000_000,
    }
    return SimpleNamespace(**{**functions, **changes})


def forget():
    gpu_names.cache_clear()
    find_gpu.cache_clear()


@pytest.fixture
def install(monkeypatch):
    def installed(nvml):
        monkeypatch.setattr(module, "nvidia_library", lambda: nvml)
        forget()

    yield installed
    forget()


def test_the_use_of_gpus_is_read_by_index_and_by_uuid(install):
    install(library())
    assert GpuMeter(("0", "GPU-b", "7")).read() == [
        GpuUse("0", 0.0, 10, 100, 40, 250.0, 1410, 5000.0),
        GpuUse("GPU-b", 0.5, 11, 100, 41, 250.0, 1410, 5000.0),
    ]


def test_a_gpu_that_does_not_say_a_figure_has_none(install):
    install(library(nvmlDeviceGetPowerUsage=refuse, nvmlDeviceGetUtilizationRates=refuse))
    (one,) = GpuMeter(("1",)).read()
    assert one.power_w is None and one.load is None and one.used_bytes == 11


def test_a_process_sees_all_gpus_or_those_of_its_variable(install):
    install(library())
    assert visible_gpus({}) == ("0", "1")
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": "1, GPU-b"}) == ("1", "GPU-b")
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": "MIG-c,-1,0"}) == ("MIG-c",)
    for none in ("", "-1", "NoDevFiles"):
        assert visible_gpus({"CUDA_VISIBLE_DEVICES": none}) == ()
    install(None)
    assert visible_gpus({}) == () and GpuMeter(("0",)).read() == []
