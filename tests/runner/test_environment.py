"""What a record's reader is told of the machine."""

from pathlib import Path

import psutil
import pytest

from opperf.runner import environment as module
from opperf.runner.environment import cpu_model, environment, usable_cores
from opperf.runner.health.finding import Reading
from opperf.runner.health.machine import Machine
from opperf.runner.launch import USABLE_CPUS


@pytest.mark.parametrize(
    "content, model",
    [
        ("processor: 0\nmodel name\t: A CPU: fast\nmodel name\t: B\n", "A CPU: fast"),
        ("processor: 0\nthe model name: A\n", "by Python"),
        ("", "by Python"),
    ],
)
def test_the_processors_name_is_the_kernels(tmp_path, monkeypatch, content, model):
    path = tmp_path / "cpuinfo"
    path.write_text(content)
    monkeypatch.setattr(module, "CPUINFO", path)
    monkeypatch.setattr(module.platform, "processor", lambda: "by Python")
    assert cpu_model() == model


def test_without_the_kernels_the_name_is_pythons(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CPUINFO", tmp_path / "nothing")
    monkeypatch.setattr(module.platform, "machine", lambda: "m64")
    for known, name in (("by Python", "by Python"), ("", "m64")):
        monkeypatch.setattr(module.platform, "processor", lambda known=known: known)
        assert cpu_model() == name


def test_load_cores_and_threads_are_this_processes(fake, monkeypatch):
    nowhere = Path("/nowhere")
    settings = {"OMP_NUM_THREADS": None, "FAKE_THREADS": "3"}
    machine = Machine(nowhere, nowhere, frozenset({0, 5}), settings)
    monkeypatch.setattr(psutil, "getloadavg", lambda: (1.2345, 8.0, 9.0))
    monkeypatch.setattr(module, "this_machine", {("FAKE_THREADS",): machine}.get)
    found = environment(fake)
    assert found.load_1min == 1.23
    assert found.cores == 2 and found.threads == {"FAKE_THREADS": "3"}
    assert found.memory_bytes == psutil.virtual_memory().total
    assert (found.framework, found.versions, found.devices) == (
        "fake",
        {"fake": "1.0"},
        ("cpu(0)",),
    )


@pytest.mark.parametrize(
    "online, own, usable, expected",
    [
        ("0-3", {3}, "", (1, "3")),
        ("0-3", {3}, "0,1,3", (3, "3")),
        ("0-3", {0, 1, 2}, "0,1,2", (3, "0-2")),
        ("0-3", {0, 1, 2, 3}, "0,1,2,3", (4, "")),
        ("nonsense", {0, 2}, "", (2, "")),
    ],
)
def test_cores_are_those_of_opperf_and_cpus_those_of_the_process(
    fake, monkeypatch, tmp_path, online, own, usable, expected
):
    folder = tmp_path / "devices/system/cpu"
    folder.mkdir(parents=True)
    (folder / "online").write_text(f"{online}\n")
    machine = Machine(tmp_path, Path("/nowhere"), frozenset(own), {})
    monkeypatch.setattr(module, "this_machine", lambda variables: machine)
    monkeypatch.setenv(USABLE_CPUS, usable)
    found = environment(fake)
    assert (found.cores, found.cpus) == expected
    if expected[1]:
        # Those that opperf may use, without their numbers.
        count = "all of 4" if expected[0] == 4 else f"{expected[0]} of 4"
        assert found.health["affinity"] == f"{count} CPUs"


@pytest.mark.parametrize(
    "read, governor",
    [
        (Reading("performance"), "performance"),
        (Reading("powersave", "warn"), "powersave"),
        (Reading("no frequency scaling is visible", "unknown"), "unknown"),
    ],
)
def test_the_governor_or_that_it_is_unknown(fake, monkeypatch, read, governor):
    monkeypatch.setattr(module, "take_reading", lambda probe, machine: read)
    assert environment(fake).governor == governor


def test_usable_cores_are_those_of_the_process(monkeypatch):
    monkeypatch.setattr(module, "usable_cpus", lambda: frozenset({1, 4, 7}))
    assert usable_cores() == 3
