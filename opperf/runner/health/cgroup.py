"""How much of the processor's time the control group of this process may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from opperf.runner.health.finding import Reading
from opperf.runner.health.machine import Machine, Unreadable, listing_of, number, text


class Quota(NamedTuple):
    """A limit on CPU time."""

    cpus: float
    """CPUs that a group may use in the mean of a period."""
    switch: Path
    """File that holds the limit."""
    never: str
    """What to write to it to have none."""


def _folders(machine: Machine) -> Iterator[Path]:
    """Folders that this process's group, and those above it, have in the hierarchies that may
    limit CPU time. A container sees none but its own, as the root."""
    for line in text(machine.proc / "self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mounts = ["", "unified"]
        elif "cpu" in controllers.split(","):
            mounts = ["cpu", controllers]
        else:
            continue
        group = PurePosixPath(path)
        # A group outside of the namespace is told as `/../..`; only the root is visible then.
        inside = [] if ".." in group.parts else [group, *group.parents]
        for mount in mounts:
            root = machine.sys / "fs/cgroup" / mount
            for above in dict.fromkeys([*inside, PurePosixPath("/")]):
                folder = root / str(above).lstrip("/")
                if folder.is_dir():
                    yield folder


def _limit(folder: Path) -> Quota | None:
    """The limit of one group, of either version of cgroups; None where it has none."""
    second, first = folder / "cpu.max", folder / "cpu.cfs_quota_us"
    if second.exists():
        most, period = text(second).split()
        return None if most == "max" else Quota(int(most) / int(period), second, "max")
    if first.exists():
        limit_us = number(first)
        if limit_us >= 0:
            return Quota(limit_us / number(folder / "cpu.cfs_period_us"), first, "-1")
    return None


def quota(machine: Machine) -> Quota | None:
    """The least limit of this process's group and those above it; None where there is none.

    Raises `Unreadable`.
    """
    folders = list(_folders(machine))
    if not folders:
        raise Unreadable("no control group of this process is visible")
    limits = [limit for folder in folders if (limit := _limit(folder)) is not None]
    return min(limits, default=None, key=lambda limit: limit.cpus)


def whole_cpus(machine: Machine) -> int:
    """CPUs that compute threads may keep busy for as long as they like: the usable ones, or as
    many as the quota has room for."""
    usable = len(machine.cpus)
    try:
        limit = quota(machine)
    except Unreadable:
        # That it is not known is the finding of `cpu_quota`.
        return usable
    return usable if limit is None else max(1, min(usable, int(limit.cpus)))


def _throttled(folder: Path) -> str:
    """How often a group was stopped because it had used its quota up."""
    path = folder / "cpu.stat"
    if not path.exists():
        return ""
    counts = dict(line.split() for line in text(path).splitlines())
    if "nr_throttled" not in counts:
        return ""
    return f", used up in {counts['nr_throttled']} of {counts['nr_periods']} periods"


def cpu_quota(machine: Machine) -> Reading:
    """The quota against the cores that threads are started for."""
    limit = quota(machine)
    if limit is None:
        return Reading("none")
    usable = len(machine.cpus)
    short = f"{limit.cpus:g} CPUs for {usable} usable"
    state = short + _throttled(limit.switch.parent)
    if limit.cpus >= usable:
        return Reading(state, short=short)
    if limit.cpus >= 1:
        # Fewer threads than the quota has CPUs never use it up; no right is needed for that.
        mend = f"taskset -cp {listing_of(sorted(machine.cpus)[: int(limit.cpus)])} $$"
    else:
        switch = Path("/sys") / limit.switch.relative_to(machine.sys)
        mend = f"echo {limit.never} | sudo tee {switch}"
    return Reading(state, "warn", mend, short)
