"""The kernel's files, cores, variables and limits of the control group that probes read, how often
it has killed for memory, and the resolution of the clock that times samples."""

from __future__ import annotations

import functools
import math
import os
import re
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count, groupby, pairwise
from pathlib import Path, PurePosixPath
from statistics import median
from time import perf_counter_ns
from typing import NamedTuple

import psutil

from opperf.errors import UsageError

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Variables that set a framework's compute threads; a framework reads them at import."""

THREAD_SETTINGS = (*THREAD_VARIABLES, "KMP_AFFINITY", "OMP_PROC_BIND")
"""Variables that decide how many threads compute, and where; each framework has more."""


USABLE_CPUS = "OPPERF_USABLE_CPUS"
"""Environment variable of a worker: the cores that opperf may use, separated by commas."""

SYSFS, PROCFS = Path("/sys"), Path("/proc")
"""Where Linux mounts its file systems of facts."""

CPU_FOLDER = "devices/system/cpu"

READ_BYTES = 1 << 16


class Unreadable(Exception):
    """Something that a probe reads does not exist, or this user may not read it."""


class CpuTimes(NamedTuple):
    """Seconds of all CPUs together since boot."""

    busy: float
    """Time in which something ran, or would have but for another guest of the hypervisor."""
    stolen: float


class Machine(NamedTuple):
    """A machine as one process sees it."""

    sys: Path
    proc: Path
    cpus: frozenset[int]
    settings: dict[str, str | None]
    """By environment variable; None for one that is not set."""
    since: CpuTimes | None = None
    """At the begin of a measurement; None for boot."""

    @property
    def cpu_folder(self) -> Path:
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
    """Returns the machine of this process. `variables` are the framework's own."""
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


def named_cpus() -> frozenset[int]:
    """Returns the CPUs that the environment names as usable; none if it names none. Raises
    `UsageError` for what is no list of CPUs."""
    listed = os.environ.get(USABLE_CPUS, "")
    try:
        return parse_cpus(listed)
    except ValueError as error:
        raise UsageError(
            f"the environment variable {USABLE_CPUS} is {listed!r}, not a list of CPUs such as "
            "0-3,8; opperf sets it for its own processes: unset it"
        ) from error


def parse_cpus(listed: str) -> frozenset[int]:
    """Returns the CPUs of a list as the kernel prints it, `0-3,8`. Raises `ValueError`."""
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


class Quota(NamedTuple):
    """A limit on CPU time."""

    cpus: float
    """CPU time of a period, as a multiple of its length."""
    switch: Path
    never: str
    """Content of the file without a limit."""


def _folders(machine: Machine, controller: str = "cpu") -> Iterator[Path]:
    """Returns the folders of this process's group, and of those above it, in the hierarchies that
    may limit what the controller is of. A container sees only its own group, as the root."""
    for line in read_text(machine.proc / "self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mounts = ["", "unified"]
        elif controller in controllers.split(","):
            mounts = [controller, controllers]
        else:
            continue
        group = PurePosixPath(path)
        # A group outside of the namespace is listed as `/../..`; only the root is visible then.
        inside = [] if ".." in group.parts else [group, *group.parents]
        for mount in mounts:
            root = machine.sys / "fs/cgroup" / mount
            for above in dict.fromkeys([*inside, PurePosixPath("/")]):
                folder = root / str(above).lstrip("/")
                if folder.is_dir():
                    yield folder


def _limit(folder: Path) -> Quota | None:
    """Returns the limit of one group, of either version of cgroups, or None."""
    second, first = folder / "cpu.max", folder / "cpu.cfs_quota_us"
    if second.exists():
        most, period = read_text(second).split()
        return None if most == "max" else Quota(int(most) / int(period), second, "max")
    if first.exists():
        limit_us = read_number(first)
        if limit_us >= 0:
            return Quota(limit_us / read_number(folder / "cpu.cfs_period_us"), first, "-1")
    return None


def quota(machine: Machine) -> Quota | None:
    """Returns the lowest limit of the group and those above it, or None. Raises `Unreadable`."""
    folders = list(_folders(machine))
    if not folders:
        raise Unreadable("no control group of this process is visible")
    limits = [limit for folder in folders if (limit := _limit(folder)) is not None]
    return min(limits, default=None, key=lambda limit: limit.cpus)


def free_memory(machine: Machine) -> float:
    """Returns the bytes that this process's group may still allocate; infinite without a limit."""
    try:
        folders = list(_folders(machine, "memory"))
    except Unreadable:
        return math.inf
    return max(0.0, min((_left(folder) for folder in folders), default=math.inf))


def _left(folder: Path) -> float:
    for most, used in (
        ("memory.max", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        with suppress(Unreadable, ValueError):
            limit = read_text(folder / most)
            return math.inf if limit == "max" else int(limit) - read_number(folder / used)
    return math.inf


def whole_cpus(machine: Machine) -> int:
    """Returns the CPUs that threads can keep busy: the usable ones, or fewer by the quota."""
    usable = len(machine.cpus)
    try:
        limit = quota(machine)
    except Unreadable:
        # The finding of `cpu_quota` reports it.
        return usable
    return usable if limit is None else max(1, min(usable, int(limit.cpus)))


KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)
"""Of `/proc/vmstat`, those in control groups of limited memory included; since Linux 4.13."""


def memory_kills(proc: Path = PROCFS) -> int | None:
    """Returns how many processes the kernel has killed for lack of memory; None if unknown."""
    try:
        found = KILLS.search(read_text(proc / "vmstat"))
    except Unreadable:
        return None
    return int(found[1]) if found else None


def memory_advice(number: int, before: int | None) -> str:
    """Returns what a reader should know of a process that the signal of this number ended: whether
    it was for lack of memory, by the kills `before` it; empty if it was for another reason."""
    if number != signal.SIGKILL:
        return ""
    now = memory_kills()
    if before is None or now is None:
        return "perhaps out of memory"
    return "out of memory" if now > before else ""


READINGS = 1000
"""Number of clock readings whose median is the cost of one: enough that interruptions of a few do
not count, in a fraction of a millisecond."""


@functools.cache
def resolution_ns() -> float:
    """Returns the clock's step: the median difference between consecutive readings that differ,
    which on most machines is the duration of a reading."""
    readings = [perf_counter_ns() for _ in range(READINGS)]
    steps = [after - before for before, after in pairwise(readings)]
    return float(median(step for step in steps if step > 0))
