"""Samples of a machine, and the metrics that they make."""

import os

import psutil
import pytest

from opperf.machine.gpus import GpuUse
from opperf.programs import samples as module
from opperf.programs.samples import Sample, Sampler


def gpu(name="0", load=0.5, used=1 << 30, power=100.0, energy=None, clock=1000.0):
    return GpuUse(name, load, used, 4 << 30, 50.0, power, clock, energy)


def sample(at, cpu_s=0.0, memory=0, disk=0, gpus=()):
    return Sample(at, cpu_s, memory, disk, 2 * disk, int(at), 0, gpus)


@pytest.fixture
def figures(monkeypatch):
    """Returns the metrics of samples by name, on a machine of four cores."""

    def made(*taken, peak=0):
        sampler = Sampler([os.getpid()], ())
        sampler.samples, sampler._cores = list(taken), 4
        return {metric.name: values for metric, values in sampler.metrics(peak)}

    return made


def test_amounts_of_a_second_are_those_between_samples(figures):
    found = figures(sample(1, 0, 5, 0), sample(3, 2.0, 9, 100), sample(4, 2.0, 7, 400))
    assert found["cpu_load"] == [25.0, 0.0]
    assert found["disk_read"] == [50.0, 300.0] and found["disk_write"] == [100.0, 600.0]
    assert found["program_memory"] == [9.0]
    assert "gpu_load" not in found and "energy" not in found


def test_the_peak_of_the_memory_may_be_between_two_samples(figures):
    assert figures(sample(1, memory=5), sample(2, memory=6), peak=8)["program_memory"] == [8.0]


def test_gpus_of_a_program_count_together(figures):
    two = (gpu("0", 0.2, clock=900.0), gpu("1", 0.6))
    found = figures(sample(0, gpus=two), sample(2, gpus=(gpu("0", 1.0), gpu("1", 1.0, 3 << 30))))
    assert found["gpu_load"] == [pytest.approx(40.0), 100.0]
    assert found["gpu_memory"] == [float(4 << 30)]
    assert found["gpu_power"] == [200.0, 200.0] and found["gpu_clock"] == [900.0, 1000.0]
    # Without counters: 200 W for two seconds.
    assert found["energy"] == [400.0]


def test_energy_is_that_of_the_counters_where_there_are_any(figures):
    found = figures(sample(0, gpus=(gpu(energy=50.0),)), sample(2, gpus=(gpu(energy=90.0),)))
    assert found["energy"] == [40.0]


def test_energy_of_an_item_is_the_power_over_the_rate():
    sampler = Sampler([os.getpid()], ())
    sampler.samples = [
        sample(at, gpus=(gpu(power=power),)) for at, power in ((0, 9), (1, 80), (2, 120))
    ]
    assert sampler.energy_per_item(0.5, 2.5, 50.0)[1] == [2.0]
    assert sampler.energy_per_item(5.0, 6.0, 50.0)[1] == []


def test_data_have_the_fields_of_milabench(monkeypatch):
    meter = type("Meter", (), {"read": lambda self: [gpu("4")]})()
    monkeypatch.setattr(module, "GpuMeter", lambda names: meter)
    sampler = Sampler([os.getpid()], ("4",))
    machine = {key: value for each in sampler.read() for key, value in each.items()}
    assert set(machine["cpudata"]) == {"memory", "load"}
    assert machine["netdata"]["bytes_sent"] >= 0
    process = sampler.process_data(os.getpid())["process"]
    assert process["pid"] == os.getpid() and process["memory"][0] > 2**20
    assert set(process) == {"pid", "load", "num", "memory", "read_bytes", "write_bytes"}
    assert sampler.gpu_data(("4",)) == {
        "gpudata": {
            "4": {
                "memory": [1024.0, 4096.0],
                "load": 0.5,
                "temperature": 50.0,
                "power": 100.0,
                "clock": 1000.0,
            }
        }
    }
    assert sampler.gpu_data(("1",)) is None


def test_a_machine_that_does_not_count_bytes_of_disks_is_sampled(monkeypatch):
    def refuse():
        raise NotImplementedError

    monkeypatch.setattr(psutil, "disk_io_counters", refuse)
    monkeypatch.delattr(psutil.Process, "io_counters")
    sampler = Sampler([os.getpid()], ())
    assert not [each for each in sampler.read() if "iodata" in each]
    assert sampler.process_data(os.getpid())["process"]["read_bytes"] == 0
