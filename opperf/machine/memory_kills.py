"""Whether the kernel killed a process for lack of memory."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from opperf.machine.kernel import PROCFS, Unreadable, read_text

KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)
"""Of `/proc/vmstat`, those in control groups of limited memory included; since Linux 4.13."""


def memory_kills(proc: Path = PROCFS) -> int | None:
    """Returns how many processes the kernel has killed for lack of memory since it started; None
    where it does not say."""
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
