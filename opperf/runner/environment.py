"""Collects the environment of this process, by which readers judge a number."""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path

import psutil

import opperf
from opperf.frameworks import Framework
from opperf.model import Environment
from opperf.runner.allocator import configure_heap
from opperf.runner.hardware import cpu_caches, gpus
from opperf.runner.health import processor
from opperf.runner.health.examine import short_form, take_reading
from opperf.runner.health.machine import (
    Machine,
    Unreadable,
    format_cpus,
    parse_cpus,
    read_text,
    this_machine,
    usable_cpus,
)
from opperf.runner.launch import USABLE_CPUS

CPUINFO = Path("/proc/cpuinfo")


def cpu_model() -> str:
    """Returns the processor's name, from the kernel or else from Python."""
    if CPUINFO.exists():
        for line in CPUINFO.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def usable_cores() -> int:
    """Returns the number of cores this process may run on, which a container may limit."""
    return len(usable_cpus())


def list_cpus(machine: Machine) -> str:
    """Returns the cores that this process may run on, as a list; empty if it may use all."""
    try:
        online = parse_cpus(read_text(machine.cpu_folder / "online"))
    except (Unreadable, ValueError):
        online = machine.cpus
    return "" if machine.cpus >= online else format_cpus(machine.cpus)


def environment(framework: Framework) -> Environment:
    """Returns the environment of this process. Its number of cores and the machine's health are
    about all cores that opperf may use, whichever this process is pinned to."""
    machine = this_machine(framework.variables)
    cpus = list_cpus(machine)
    usable = parse_cpus(os.environ.get(USABLE_CPUS, ""))
    machine = machine._replace(cpus=usable or machine.cpus)
    governor = take_reading(processor.GOVERNOR, machine)
    threads = {name: value for name, value in machine.settings.items() if value is not None}
    count = framework.threads()
    if count is not None:
        threads["compute threads"] = str(count)
    return Environment(
        opperf=opperf.__version__,
        framework=framework.name,
        versions=framework.versions(),
        features=framework.features(),
        python=platform.python_version(),
        platform=platform.platform(),
        hostname=socket.gethostname(),
        cpu=cpu_model(),
        cores=len(machine.cpus),
        cpus=cpus,
        threads=threads,
        memory_bytes=psutil.virtual_memory().total,
        load_1min=round(psutil.getloadavg()[0], 2),
        governor="unknown" if governor.level == "unknown" else governor.state,
        devices=framework.devices(),
        allocator=configure_heap(framework.name),
        health=short_form(machine),
        commit=framework.commit(),
        caches=cpu_caches(),
        gpus=gpus(),
    )
