"""Profilers by name: a framework's own, the wall clock, and those of other packages."""

from __future__ import annotations

import functools
from functools import partial
from importlib.metadata import EntryPoint, entry_points

from opperf.errors import UsageError, unknown
from opperf.frameworks import Framework
from opperf.frameworks.timing import Profiler, ProfilerFactory
from opperf.profilers.events import EventProfiler
from opperf.profilers.python import PythonTimer, QueueTimer, idle_wait

GROUP = "opperf.profilers"
"""Entry points of other packages, each a callable that returns a `Profiler` for a framework and a
device, and raises `UnsupportedError` if it has none."""


@functools.cache
def _installed() -> tuple[EntryPoint, ...]:
    return tuple(sorted(entry_points(group=GROUP)))


def _load(entry: EntryPoint, framework: Framework, device: str) -> Profiler:
    """Returns the profiler of another package. Raises `UsageError` if the package is broken."""
    try:
        make = entry.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"the profiler {entry.value}, an entry point of the group {GROUP}, cannot be loaded "
            f"({error}); reinstall its package, or remove it"
        ) from error
    profiler: Profiler = make(framework, device)
    return profiler


def _wall_clock(framework: Framework, device: str) -> Profiler:
    """Returns the timer of wall-clock time, which on an asynchronous device subtracts the cost of
    synchronising."""
    synchronize = partial(framework.synchronize, device)
    if framework.is_asynchronous(device):
        return QueueTimer(synchronize, idle_wait(framework, device))
    return PythonTimer(synchronize)


def find_profilers(framework: Framework) -> dict[str, ProfilerFactory]:
    """Returns the factory of every profiler that a framework can be measured with, by name, the
    preferred one first."""
    python = partial(_wall_clock, framework)
    common: dict[str, ProfilerFactory] = {**framework.profilers(), "python": python}
    # Not the preferred one, as the CPU of a framework whose GPU has events may have none.
    if any(framework.has_events(device) for device in framework.devices()):
        common.setdefault("events", partial(EventProfiler, framework))
    added = {entry.name: partial(_load, entry, framework) for entry in _installed()}
    return {**common, **{name: make for name, make in added.items() if name not in common}}


def profiler(name: str, framework: Framework, device: str) -> Profiler:
    """Makes the profiler of that name for a device.

    Raises `UsageError` for an unknown name, and `UnsupportedError` if the device has no such
    profiler.
    """
    known = find_profilers(framework)
    if name not in known:
        raise unknown("profiler", name, known, framework.name)
    return known[name](device)
