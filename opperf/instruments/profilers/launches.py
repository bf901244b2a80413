"""The time of an empty kernel, which no call on an asynchronous device can undercut by much."""

from __future__ import annotations

from statistics import median

from opperf.frameworks import Framework
from opperf.frameworks.timing import Profiler

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
    kernel = framework.empty_kernel(device) if framework.is_asynchronous(device) else None
    if kernel is None:
        return None
    for _ in range(WARM_LAUNCHES):
        kernel()
    framework.synchronize(device)
    (timed,) = timer.trace([kernel], SAMPLES, loops)
    return median(timed.times) if timed.times else None
