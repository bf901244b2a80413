"""Profilers: the protocol, and the form of the times they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from opperf.model import MetricKind

MOST_CALLS = 100_000
"""Calls whose times are kept one by one: many times what a mean of them needs, and some megabytes.
A short operator is called a million times a second."""


class Timed(NamedTuple):
    """A phase's samples, in nanoseconds."""

    times: list[float]
    """Times of the profiler's kind; empty for a phase without kernels."""
    walls: list[float]
    """The wall clock around each call and the wait for it."""
    calls: list[float]
    """The time of each call, of the first `MOST_CALLS`; the samples are means of these."""
    batch: int = 1
    """Calls between two waits for the device, where a time is their mean and not one's own."""

    @classmethod
    def of(cls, calls: list[float], walls: list[float], loops: int) -> Timed:
        """Samples that are the means of `loops` calls each, from every call's time and wall clock.
        The overhead taken off a call may exceed its time; a sample is 0 at least."""
        return cls(_means(calls, loops), _means(walls, loops), calls[:MOST_CALLS])


def _means(times: list[float], loops: int) -> list[float]:
    """The mean of each `loops` times on end."""
    return [
        max(0.0, sum(times[first : first + loops]) / loops) for first in range(0, len(times), loops)
    ]


class Event(Protocol):
    """A place in a device's queue, and the time at which the device came to it."""

    resolution_ns: float
    """Smallest difference between two times that it can tell."""

    def record(self) -> None:
        """Put it at the end of the queue, without waiting."""
        ...

    def elapsed_ns(self, earlier: Event) -> float:
        """Nanoseconds on the device since an earlier one. Both are recorded, and waited for."""
        ...


class Profiler(Protocol):
    """Times the phases of a call."""

    kind: MetricKind
    """Kind of its times: of kernels, or on the wall clock."""
    resolution_ns: float
    """Smallest difference between two times that it can read."""

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[Timed]:
        """Run the phases in order, `count` times `loops` times over, and wait for the device.

        Returns for every phase `count` samples, in nanoseconds, each the mean of `loops` calls, and
        no times for a phase that runs no kernel.
        """
        ...


MakeProfiler = Callable[[str], Profiler]
"""Makes a profiler for a device. Raises `UnsupportedError` where that device has none."""
