"""Reference work: a fixed computation that is timed between an operator's calls and gauges the
core's speed; the time of an empty kernel, which no call on an asynchronous device can undercut by
much; and calls without recording, which no profiler's time is longer than.

On a shared machine a core's speed changes by a third within a tenth of a second with the load of
its neighbours, and with it the time of everything that runs on the core.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from statistics import fmean, median
from time import perf_counter_ns

from opperf.frameworks import Framework
from opperf.frameworks.timing import PhaseTimes, Profiler

BLOCK = bytes(8192)
"""Data to hash, small enough for the first-level cache together with the interpreter's."""

WORKS: dict[str, Callable[[], object]] = {
    "interpreter": lambda: sum(range(500)),
    "hashing": lambda: hashlib.sha256(BLOCK).digest(),
}
"""Two kinds of work, of five to twenty microseconds each: a load that slows many small instructions
by a half slows arithmetic in registers by a tenth, and operators are between the two."""


class ReferenceWork:
    """Times the reference work; a phase that runs before each call of an operator."""

    def __init__(self) -> None:
        self._times: dict[str, list[int]] = {name: [] for name in WORKS}

    def __call__(self) -> None:
        """Times each piece of work once, after an untimed run that restores the caches."""
        for name, work in WORKS.items():
            work()
            begin = perf_counter_ns()
            work()
            self._times[name].append(perf_counter_ns() - begin)

    def forget(self) -> None:
        for times in self._times.values():
            times.clear()

    def means(self) -> dict[str, float]:
        """The trimmed mean of each piece of work in ns. Raises `ValueError` if none was timed."""
        return {name: middle_mean(times) for name, times in self._times.items()}


CUT = 0.1
"""Share of the times that is trimmed at each end: more than interruptions affect."""


def middle_mean(times: Sequence[float]) -> float:
    """The mean without the longest and shortest times. Where a core was slow for a third of the
    time, it contains a third of the difference, for work and operator alike; a median all or
    nothing."""
    ordered = sorted(times)
    cut = int(CUT * len(ordered))
    return fmean(ordered[cut : len(ordered) - cut])


LAUNCH_BOUND = 1.3
"""Ratio to the time of an empty kernel below which a time is that of a launch: less than a quarter
of it (0.3 of 1.3) is then the operator's work."""

WARM_LAUNCHES = 20
"""Launches before the timed ones: the first loads the kernel, and the others raise the clocks."""

SAMPLES, LAUNCHES = 100, 20
"""Samples whose median is the time, and launches of a sample where a profiler queues them: some ten
milliseconds, once in a process."""

_TIMES: dict[tuple[str, str, str, bool], float | None] = {}
"""By the framework's name, the device, the profiler's name, and whether calls are queued."""


def launch_ns(
    framework: Framework, device: str, name: str, timer: Profiler, *, queued: bool
) -> float | None:
    """Returns the time of an empty kernel by a profiler, measured once in a process: as the
    interval between two that are queued, or of one that is waited for. None without such a
    kernel."""
    key = framework.name, device, name, queued
    if key not in _TIMES:
        _TIMES[key] = _measure(framework, device, timer, LAUNCHES if queued else 1)
    return _TIMES[key]


def _measure(framework: Framework, device: str, timer: Profiler, loops: int) -> float | None:
    kernel = (
        framework.queues.empty_kernel(device) if framework.queues.is_asynchronous(device) else None
    )
    if kernel is None:
        return None
    for _ in range(WARM_LAUNCHES):
        kernel()
    framework.synchronize(device)
    (timed,) = timer.trace([kernel], SAMPLES, loops)
    return median(timed.times) if timed.times else None


LONGER = 1.05
"""Ratio of a profiler's time to the wall clock's from which it is too long, beyond noise."""


COMPARED = 25
MIN_COMPARED = 5
COMPARED_S = 0.1
"""Calls without recording that decide, at most and at least, and the seconds that they may take."""


def is_too_long(timed: PhaseTimes, walls_ns: Sequence[float], resolution_ns: float) -> bool:
    """Returns whether a phase's times are longer than the wall clock's without recording. Recording
    the events inside a call makes it longer, by more where the machine is busy or they are many,
    and their cost is subtracted as it is measured elsewhere."""
    if not timed.times or not walls_ns or not timed.recording.events:
        return False
    wall = median(walls_ns)
    return median(timed.times) > LONGER * wall + resolution_ns


def without_recording(
    clock: Profiler, phases: Sequence[Callable[[], object]], call_s: float
) -> list[PhaseTimes]:
    """Returns wall-clock times of the phases; a call of all takes about `call_s` seconds."""
    fitting = int(COMPARED_S / call_s) if call_s > 0 else COMPARED
    return clock.trace(phases, max(MIN_COMPARED, min(COMPARED, fitting)))
