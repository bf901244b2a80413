"""The protocol of profilers, and the times that they return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from opperf.model import MetricKind

MOST_CALLS = 100_000
"""Maximum number of single calls whose times are kept: many more than a mean needs, in a few
megabytes. A short operator is called a million times a second."""


class Recording(NamedTuple):
    """The events that a profiler recorded inside the calls, and their cost, which it subtracted."""

    events: float = 0.0
    """Events of a call."""
    share: float = 0.0
    """Share of the time that recording them took."""


class PhaseTimes(NamedTuple):
    """A phase's samples, in nanoseconds."""

    times: list[float]
    """Times of the profiler's kind; empty for a phase without kernels."""
    walls: list[float]
    """Wall-clock times of the calls and their synchronisation."""
    calls: list[float]
    """The times of the first `MOST_CALLS` single calls; the samples are means of these."""
    batch: int = 1
    """Calls between two synchronisations; above 1, each entry of `calls` is the mean of a batch."""
    recording: Recording = Recording()
    last: tuple[Any, ...] = ()
    """The result of the last call, as one element; of the last phase, if the profiler keeps it."""

    @classmethod
    def of(cls, calls: list[float], walls: list[float], loops: int) -> PhaseTimes:
        """Returns means of `loops` calls, at least 0, as overhead is subtracted."""
        return cls(_means(calls, loops), _means(walls, loops), calls[:MOST_CALLS])


def _means(times: list[float], loops: int) -> list[float]:
    return [
        max(0.0, sum(times[first : first + loops]) / loops) for first in range(0, len(times), loops)
    ]


class Event(Protocol):
    """A marker in a device's queue that records the time at which the device reaches it."""

    resolution_ns: float

    def record(self) -> None:
        """Puts the event at the end of the queue, without waiting."""

    def elapsed_ns(self, earlier: Event) -> float:
        """Returns the device's nanoseconds since an earlier event, when both have been reached."""


class Profiler(Protocol):
    """Times the phases of a call."""

    kind: MetricKind
    """Kind of its times: of kernels, or on the wall clock."""
    resolution_ns: float
    """Smallest difference between two times that it can measure."""

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[PhaseTimes]:
        """Runs the phases in order, `count` times `loops` times, and synchronises the device.
        Returns `count` samples of each phase, in nanoseconds, each the mean of `loops` calls; no
        times for a phase that runs no kernel. Where reading them takes long, it may return fewer,
        at least one. What a phase returns is freed before the next one runs; what the very last
        call returned is kept for the caller."""


ProfilerFactory = Callable[[str], Profiler]
"""Makes a profiler for a device. Raises `UnsupportedError` if that device has none."""
