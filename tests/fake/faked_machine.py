"""Machines made of files, so that every probe can be tried in every state."""

from pathlib import Path

import psutil
import pytest

from opperf.machine.kernel import Machine

CPU = "sys/devices/system/cpu"

QUIET = {
    f"{CPU}/online": "0-3",
    f"{CPU}/smt/active": "0",
    f"{CPU}/cpufreq/boost": "0",
    **{f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": "performance" for cpu in range(4)},
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/class/thermal/thermal_zone0/temp": "40000",
    "sys/fs/cgroup/a/b/cpu.max": "max 100000",
    "proc/self/cgroup": "0::/a/b",
    "proc/cpuinfo": "flags: fpu",
    "proc/loadavg": "0.10 0 0 1/2 3",
    "proc/meminfo": "MemTotal: 9 kB\nMemFree: 8 kB\nMemAvailable: 8 kB\n"
    "SwapTotal: 0 kB\nSwapFree: 0 kB",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1",
    "proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1",
    "proc/stat": "cpu 60 20 10 900 5 5 5 0 0 0",
    "proc/sys/kernel/randomize_va_space": "0",
}


@pytest.fixture
def faked(tmp_path, monkeypatch):
    """A machine that has these files, and no others, to psutil too."""
    proc = tmp_path / "proc"
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(proc))
    # The C library's, which reads the machine's own file.
    monkeypatch.setattr(psutil, "getloadavg", lambda: load_in(proc / "loadavg"))

    def made(files=(), cpus=range(4), settings=None, since=None):
        for name, content in dict(files).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{content}\n")
        return Machine(tmp_path / "sys", proc, frozenset(cpus), dict(settings or {}), since)

    return made


def load_in(path: Path) -> tuple[float, ...]:
    """The three means of a file like `/proc/loadavg`."""
    return tuple(map(float, path.read_text().split()[:3]))


@pytest.fixture
def quiet(faked):
    """A machine of which nothing is noisy but what these files say."""

    def made(**changed):
        return faked(QUIET | changed)

    return made
