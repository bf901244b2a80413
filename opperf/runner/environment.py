"""Everything a reader needs in order to trust or distrust a number, gathered in one place."""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path

import psutil

import opperf
from opperf.frameworks import Framework
from opperf.model import Environment
from opperf.runner.allocator import steady

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "KMP_AFFINITY",
    "OMP_PROC_BIND",
)
"""Environment variables that decide how many threads compute, and where, whatever the framework;
each has more of its own."""

GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
CPUINFO = Path("/proc/cpuinfo")


def cpu_model() -> str:
    """The processor's name, as the kernel gives it; else what Python knows."""
    if CPUINFO.exists():
        for line in CPUINFO.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def usable_cores() -> int:
    """Cores this process may run on, which a container may limit."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def environment(framework: Framework) -> Environment:
    """The environment of this process."""
    return Environment(
        opperf=opperf.__version__,
        framework=framework.name,
        versions=framework.versions(),
        features=framework.features(),
        python=platform.python_version(),
        platform=platform.platform(),
        hostname=socket.gethostname(),
        cpu=cpu_model(),
        cores=usable_cores(),
        threads={
            name: os.environ[name]
            for name in (*THREAD_VARIABLES, *framework.variables)
            if name in os.environ
        },
        memory_bytes=psutil.virtual_memory().total,
        load_1min=round(os.getloadavg()[0], 2),
        governor=GOVERNOR.read_text().strip() if GOVERNOR.exists() else "unknown",
        devices=framework.devices(),
        allocator=steady(),
    )
