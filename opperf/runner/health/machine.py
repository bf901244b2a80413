"""Where probes look: the kernel's files, the cores and the variables of this process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count, groupby
from pathlib import Path
from typing import NamedTuple

import psutil

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "KMP_AFFINITY",
    "OMP_PROC_BIND",
)
"""Environment variables that decide how many threads compute, and where, whatever the framework;
each has more of its own."""


READ_BYTES = 1 << 16
"""More than any of the files that are read has, as a rule."""


class Unreadable(Exception):
    """What a probe looks for is not there, or not for this user; the message says what."""


class CpuTimes(NamedTuple):
    """Seconds that all CPUs together have spent since they were started."""

    busy: float
    """Time in which something ran, or would have run had it not been stolen."""
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
    """When a measurement began; None for the machine's own start."""

    @property
    def cpu_folder(self) -> Path:
        """The CPUs, below sysfs."""
        return self.sys / "devices/system/cpu"

    def of_each_cpu(self, name: str) -> Iterator[str]:
        """What is in the file of that name of every usable CPU that has one."""
        folder = self.cpu_folder
        for cpu in sorted(self.cpus):
            with suppress(Unreadable):
                yield text(f"{folder}/cpu{cpu}/{name}")


def usable_cpus() -> frozenset[int]:
    """CPUs this process may run on, which a container may limit."""
    process = psutil.Process()
    # On macOS a process has no affinity.
    if hasattr(process, "cpu_affinity"):
        return frozenset(process.cpu_affinity())
    return frozenset(range(psutil.cpu_count() or 1))


def this_machine(variables: Sequence[str]) -> Machine:
    """The machine of this process. `variables` are environment variables of the framework's own
    that decide how it computes."""
    return Machine(
        sys=Path("/sys"),
        proc=Path("/proc"),
        cpus=usable_cpus(),
        settings={name: os.environ.get(name) for name in (*THREAD_VARIABLES, *variables)},
    )


def text(path: Path | str) -> str:
    """What is in a file of the kernel's. Raises `Unreadable`."""
    # Not `read_text`, nor paths of `pathlib`: there may be hundreds of CPUs to ask for, and workers
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


def number(path: Path) -> int:
    """The whole number that is in a file of the kernel's. Raises `Unreadable`."""
    content = text(path)
    try:
        return int(content)
    except ValueError as error:
        raise Unreadable(f"{path} has {content!r}, which is no number") from error


def numbers_of(listed: str) -> frozenset[int]:
    """CPUs as the kernel lists them, `0-3,8`. Raises `ValueError` for anything else."""
    found: set[int] = set()
    for part in filter(None, listed.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def listing_of(cpus: Iterable[int]) -> str:
    """CPUs as the kernel and `taskset` list them: `0-3,8`."""
    counter = count()
    # Neighbours keep their distance from a counter.
    runs = [list(run) for _, run in groupby(sorted(cpus), lambda cpu: cpu - next(counter))]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
