"""How long this process's threads waited for a core while samples were taken, and what else the
kernel counts of a busy machine: a median says nothing of waits that are in every sample.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

from opperf.model import Note, NoteCode, Waits

PROC = Path("/proc")

READ_BYTES = 4096
"""More than the lines of the files that are used; the rest of a file is not read."""

NS_PER_S = 1e9
US_PER_S = 1e6

WAKE_S = 20e-6
"""Wait for a core of a thread that wakes up on a quiet machine, at most. A thread that computes
part of every call does so thousands of times in a second."""

SHORTEST_S = 1e-3
"""Shortest time for which a busy process keeps a core from a waiting thread, about."""

MUCH_LONGER = 10
"""Ratio of the mean wait to the median sample from which the median sample has none."""

MEDIAN_SHARE = 0.4
"""Share of the samples that may have a wait while the median one has none, with a margin."""

NOTABLE = 0.1
"""Share of a typical sample that may be waits without a note."""


class Reading(NamedTuple):
    """Counts of the kernel until a moment."""

    at_s: float
    waited: dict[int, tuple[float, int]] | None
    """Seconds that each thread waited for a core, and how often it ran; None if unknown."""
    preempted: int
    blocked: int
    """Times that threads were stopped for others, and that they waited by themselves."""
    pressure_s: float | None
    """Seconds in which some thread of the machine waited for a core."""
    stolen_s: float | None
    """Seconds that the hypervisor gave to other guests, of all cores of this machine."""


class Meter:
    """Reads the kernel's counters, in some 30 microseconds: the files stay open."""

    def __init__(self, proc: Path = PROC) -> None:
        self._tasks = proc / "self/task"
        self._threads: dict[int, int] = {}
        # A fork has threads of its own.
        self.process = os.getpid()
        self._pressure = _open(proc / "pressure/cpu")
        self._stat = _open(proc / "stat")
        self._tick_s = 1 / os.sysconf("SC_CLK_TCK")

    def read(self) -> Reading:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return Reading(
            at_s=time.perf_counter(),
            waited=self._waited(),
            preempted=used.ru_nivcsw,
            blocked=used.ru_nvcsw,
            pressure_s=_pressure_s(_text(self._pressure)),
            stolen_s=_stolen_s(_text(self._stat), self._tick_s),
        )

    def _waited(self) -> dict[int, tuple[float, int]] | None:
        try:
            present = {int(task.name) for task in self._tasks.iterdir()}
        except OSError:
            return None
        for ended in self._threads.keys() - present:
            os.close(self._threads.pop(ended))
        for thread in present - self._threads.keys():
            file = _open(self._tasks / str(thread) / "schedstat")
            if file is not None:
                self._threads[thread] = file
        found: dict[int, tuple[float, int]] = {}
        for thread, file in self._threads.items():
            # Time that it ran, time that it waited, and how often it ran.
            fields = _text(file).split()
            if len(fields) == 3:
                found[thread] = int(fields[1]) / NS_PER_S, int(fields[2])
        return found or None


def _open(path: Path) -> int | None:
    """Returns the descriptor of a file; None if it cannot be opened: some containers hide it."""
    try:
        return os.open(path, os.O_RDONLY)
    except OSError:
        return None


def _text(file: int | None) -> str:
    """Returns the begin of an open file; empty without one, or if its thread has ended."""
    if file is None:
        return ""
    with suppress(OSError):
        return os.pread(file, READ_BYTES, 0).decode(errors="replace")
    return ""


def _pressure_s(text: str) -> float | None:
    for line in text.splitlines():
        if line.startswith("some "):
            return int(line.rpartition("total=")[2]) / US_PER_S
    return None


STOLEN_FIELD = 8
"""Place of the stolen time in the first line of the kernel's statistics, after the line's name."""


def _stolen_s(text: str, tick_s: float) -> float | None:
    fields = text.partition("\n")[0].split()
    return int(fields[STOLEN_FIELD]) * tick_s if len(fields) > STOLEN_FIELD else None


_meters: list[Meter] = []


def read() -> Reading:
    """Returns what the kernel has counted for this process until now."""
    if not _meters or _meters[0].process != os.getpid():
        _meters[:] = [Meter()]
    return _meters[0].read()


def waits_between(
    before: Reading, after: Reading, walls: Sequence[Sequence[float]], loops: int
) -> Waits:
    """Returns the waits between two readings. `walls` are the samples of each phase that was timed
    between them, in nanoseconds, each the mean of `loops` calls."""
    wall_s = max(after.at_s - before.at_s, 1 / NS_PER_S)
    waited_s: list[float] = []
    long_s: list[float] = []
    runs = 0
    if before.waited is not None and after.waited is not None:
        for thread, (now_s, now_runs) in after.waited.items():
            then_s, then_runs = before.waited.get(thread, (0.0, 0))
            runs += now_runs - then_runs
            waited_s.append(now_s - then_s)
            long_s.append(max(0.0, now_s - then_s - WAKE_S * (now_runs - then_runs)))
    stolen_s = _difference(before.stolen_s, after.stolen_s)
    share = typical_share([*long_s, stolen_s or 0.0], wall_s, walls, loops)
    *_, measured = walls
    if measured and sum(long_s) / max(1, runs) > MUCH_LONGER * loops * median(measured) / NS_PER_S:
        # A short call beside a busy process waits seldom, for long.
        share = 0.0
    return Waits(
        wall_s=wall_s,
        waited_s=sum(waited_s) if waited_s else None,
        preempted=after.preempted - before.preempted,
        blocked=after.blocked - before.blocked,
        pressure_s=_difference(before.pressure_s, after.pressure_s),
        stolen_s=stolen_s,
        share=share,
    )


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def typical_share(
    waits_s: Sequence[float], wall_s: float, walls: Sequence[Sequence[float]], loops: int
) -> float:
    """Returns the share of a typical sample, the median one, that has to be waits. `waits_s` are
    those in `wall_s`, of one thread or of the machine each; the longer samples explain some of
    them."""
    taken_s = typical_s = longer_s = 0.0
    for own in filter(len, walls):
        middle = median(own)
        taken_s += loops * sum(own) / NS_PER_S
        typical_s += loops * middle * len(own) / NS_PER_S
        longer_s += loops * sum(max(0.0, wall - middle) for wall in own) / NS_PER_S
    if not typical_s:
        return 0.0
    # Between the samples, and while a profiler's events are read, threads wait too.
    waited_s = min(1.0, taken_s / wall_s) * sum(waits_s)
    waiting = sum(wait_s > 0 for wait_s in waits_s)
    samples = max(map(len, walls))
    left_s = waited_s - waiting * longer_s
    if waited_s / SHORTEST_S >= MEDIAN_SHARE * samples:
        # Too many to be in few samples: that several threads wait at once explains no more.
        left_s = waited_s - longer_s
    return min(1.0, max(0.0, left_s) / typical_s)


def busy_note(metric: str, waits: Waits) -> Note | None:
    """Returns a note on a time of which waits for a core are a notable part, if they are."""
    if waits.share <= NOTABLE:
        return None
    share = f"of a typical sample, at least {waits.share:.0%}"
    text = f"the machine was busy: {share} were waits for a core that something else used"
    return Note(metric, NoteCode.BUSY, text)
