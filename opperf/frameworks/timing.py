"""The protocol of profilers, and the times that they return; and runs of compiled programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from opperf.model import CompiledProgram, MetricKind

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


UNNAMED = "compiled program"


def program_name(name: str, file: str, line: int) -> str:
    """Returns the name of a compiled program: that of what it was made of, with its place."""
    return f"{name or UNNAMED} ({Path(file).name}:{line})" if file else name or UNNAMED


NO_RUNS: tuple[int, int | None] = (0, 0)


class CompiledRuns:
    """The runs of the compiled programs of a recorded one."""

    def __init__(self) -> None:
        self._runs: dict[str, tuple[int, int | None]] = {}
        """The number of runs of each program by name, and their time in nanoseconds."""
        self._kernels: dict[str, dict[str, float]] = {}

    def add(self, name: str, elapsed_ns: int | None) -> None:
        """Adds a run; the time is None if it was not waited for."""
        number, time_ns = self._runs.get(name, NO_RUNS)
        if time_ns is not None and elapsed_ns is not None:
            self._runs[name] = number + 1, time_ns + elapsed_ns
        else:
            self._runs[name] = number + 1, None

    def add_kernel(self, name: str, kernel: str, elapsed_ns: float) -> None:
        """Adds the time of a kernel of the program of a name."""
        kernels = self._kernels.setdefault(name, {})
        kernels[kernel] = kernels.get(kernel, 0.0) + elapsed_ns

    def forget(self) -> None:
        """Forgets the runs that were added."""
        self._runs.clear()
        self._kernels.clear()

    def recorded(self) -> tuple[CompiledProgram, ...]:
        """Returns the programs that ran."""
        return tuple(
            CompiledProgram(
                name,
                number,
                None if time_ns is None else float(time_ns),
                self._kernels.get(name, {}),
            )
            for name, (number, time_ns) in self._runs.items()
        )
