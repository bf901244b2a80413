"""How busy each core is at the moment."""

from __future__ import annotations

import time
from pathlib import Path

from opperf.runner.health.machine import Unreadable, read_text

PROC = Path("/proc")

INTERVAL_S = 0.1
"""Time over which cores are watched: ten steps of the kernel's count of their time."""

IDLE_FIELDS = (3, 4)
"""Places of a core's time without work, and waiting for a disk, in the kernel's statistics."""

COUNTED_FIELDS = 8
"""Number of fields that add up to a core's time; those that follow are parts of them."""


def watch_cores(interval_s: float = INTERVAL_S, proc: Path = PROC) -> dict[int, float]:
    """Returns the share of an interval in which each core was busy, the hypervisor's other guests
    included; empty if the system does not count it."""
    before = _read(proc)
    # This process itself then makes no core busy.
    time.sleep(interval_s if before else 0.0)
    after = _read(proc)
    found = {}
    for cpu in before.keys() & after.keys():
        busy, whole = (now - then for now, then in zip(after[cpu], before[cpu], strict=True))
        found[cpu] = busy / whole if whole > 0 else 0.0
    return found


def _read(proc: Path) -> dict[int, tuple[int, int]]:
    """Returns the busy time of each core and its whole time since boot, in the kernel's steps."""
    try:
        lines = read_text(proc / "stat").splitlines()
    except Unreadable:
        return {}
    found = {}
    for line in lines:
        name, *texts = line.split()
        number = name.removeprefix("cpu")
        if name != number and number.isdigit():
            counts = list(map(int, texts[:COUNTED_FIELDS]))
            idle = sum(counts[place] for place in IDLE_FIELDS)
            found[int(number)] = sum(counts) - idle, sum(counts)
    return found
