"""The limits on CPU time and memory of this process's control group."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from opperf.machine.kernel import Machine, Unreadable, read_number, read_text


class Quota(NamedTuple):
    """A limit on CPU time."""

    cpus: float
    """CPU time of a period, as a multiple of its length."""
    switch: Path
    """File that holds the limit."""
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
    """Returns the lowest limit of this process's group and those above it, or None.

    Raises `Unreadable`.
    """
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
    """Returns the bytes below the limit of one group, of either version of cgroups."""
    for most, used in (
        ("memory.max", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        with suppress(Unreadable, ValueError):
            limit = read_text(folder / most)
            return math.inf if limit == "max" else int(limit) - read_number(folder / used)
    return math.inf


def whole_cpus(machine: Machine) -> int:
    """Returns the number of CPUs that compute threads can keep busy without a break: the usable
    ones, or fewer by the quota."""
    usable = len(machine.cpus)
    try:
        limit = quota(machine)
    except Unreadable:
        # The finding of `cpu_quota` reports it.
        return usable
    return usable if limit is None else max(1, min(usable, int(limit.cpus)))
