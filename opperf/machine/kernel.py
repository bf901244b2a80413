"""The kernel's files, the cores and the environment variables that probes read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count, groupby
from pathlib import Path
from typing import NamedTuple

import psutil

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Variables that set a framework's compute threads; a framework reads them at import."""

THREAD_SETTINGS = (*THREAD_VARIABLES, "KMP_AFFINITY", "OMP_PROC_BIND")
"""Environment variables that decide how many threads compute, and where, whatever the framework;
each has more of its own."""


USABLE_CPUS = "OPPERF_USABLE_CPUS"
"""Environment variable of a worker: the cores that opperf may use, separated by commas."""

SYSFS, PROCFS = Path("/sys"), Path("/proc")
"""Where Linux mounts its file systems of facts."""

CPU_FOLDER = "devices/system/cpu"
"""Folder of the CPUs in sysfs."""

READ_BYTES = 1 << 16
"""More than the size of most files that are read."""


class Unreadable(Exception):
    """Something that a probe reads does not exist, or this user may not read it; the message says
    which."""


class CpuTimes(NamedTuple):
    """Seconds of all CPUs together since boot."""

    busy: float
    """Time in which something ran, or would have run had the hypervisor not run another guest."""
    stolen: float


class Machine(NamedTuple):
    """A machine as one process sees it."""

    sys: Path
    """Where sysfs is mounted."""
    proc: Path
    """Where procfs is mounted."""
    cpus: frozenset[int]
    """CPUs the process may run on."""
    settings: dict[str, str | None]
    """Thread settings by environment variable; None for one that is not set."""
    since: CpuTimes | None = None
    """CPU times at the begin of a measurement; None for those at boot."""

    @property
    def cpu_folder(self) -> Path:
        """The folder of the CPUs in sysfs."""
        return self.sys / CPU_FOLDER

    def read_each_cpu(self, name: str) -> Iterator[str]:
        """Returns the content of this file of every usable CPU that has it."""
        folder = self.cpu_folder
        for cpu in sorted(self.cpus):
            with suppress(Unreadable):
                yield read_text(f"{folder}/cpu{cpu}/{name}")


def usable_cpus() -> frozenset[int]:
    """Returns the CPUs this process may run on, which a container may limit."""
    process = psutil.Process()
    # On macOS a process has no affinity.
    if hasattr(process, "cpu_affinity"):
        return frozenset(process.cpu_affinity())
    return frozenset(range(psutil.cpu_count() or 1))


def this_machine(variables: Sequence[str]) -> Machine:
    """Returns the machine of this process. `variables` are the framework's own environment
    variables that decide how it computes."""
    return Machine(
        sys=SYSFS,
        proc=PROCFS,
        cpus=usable_cpus(),
        settings={name: os.environ.get(name) for name in (*THREAD_SETTINGS, *variables)},
    )


def read_text(path: Path | str) -> str:
    """Returns the content of one of the kernel's files. Raises `Unreadable`."""
    # Not `Path.read_text`, nor paths of `pathlib`: there may be hundreds of CPUs, and workers
    # wait for that.
    try:
        file = os.open(path, os.O_RDONLY)
        try:
            parts = list(iter(lambda: os.read(file, READ_BYTES), b""))
        finally:
            os.close(file)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
    return b"".join(parts).decode(errors="replace").strip()


def read_number(path: Path) -> int:
    """Returns the integer in one of the kernel's files. Raises `Unreadable`."""
    content = read_text(path)
    try:
        return int(content)
    except ValueError as error:
        raise Unreadable(f"{path} has {content!r}, which is not a number") from error


def parse_cpus(listed: str) -> frozenset[int]:
    """Returns the CPUs of a list as the kernel prints it, `0-3,8`. Raises `ValueError` for anything
    else."""
    found: set[int] = set()
    for part in filter(None, listed.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def format_cpus(cpus: Iterable[int]) -> str:
    """Returns CPUs as the kernel and `taskset` list them: `0-3,8`."""
    counter = count()
    # Consecutive numbers have the same distance from a counter.
    runs = [list(run) for _, run in groupby(sorted(cpus), lambda cpu: cpu - next(counter))]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
