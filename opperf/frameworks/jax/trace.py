"""Kernel time by JAX's own profiler: that of XLA's thunks, the steps of a compiled program.

Each call is inside a marker of the profiler, and its thunks are those that begin within it, on
whatever thread they ran: on a CPU short programs run in the calling thread, others in XLA's pool. A
thunk that starts work and returns ends with the program's wait for it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter_ns
from typing import NamedTuple

import jax
from jax._src import profiler
from jax.profiler import ProfileData, ProfileOptions, TraceAnnotation

from opperf.errors import ProfilerError
from opperf.frameworks.recording import (
    EventCost,
    Interval,
    Taken,
    unions_in,
)
from opperf.frameworks.timing import PhaseTimes
from opperf.model import MetricKind

MARKER = "opperf::call"

THUNK = "hlo_op"
"""What a profile says of a thunk, and of nothing else: the operation that it is of."""

WAIT = "ThunkExecutor::Execute (wait for completion)"

HOST_LEVEL = 3
"""Level of the host's tracer at which thunks are recorded."""

EVENT_NS = 350.0
"""Nanoseconds that recording a thunk takes at first guess: 230 to 480 in five recordings of a
program of 302 short ones. Where that is much of a call, it is measured on the case itself."""

FIRST_CALLS = 1
MOST_EVENTS = 50_000
"""Calls of the first recording, which shows how many events a call has, and maximum number of
events of a later one: each takes two microseconds to be read."""

COMPARED = 25
"""Calls without recording that measure an event's cost: of so many, on a busy machine too, most are
not interrupted."""

WARM_CALLS = 3
CALLS_PER_WARM_CALL = 5
"""Calls at the begin of a recording that are not timed, as the caches are full of the last one's
events; and timed calls for each of these."""

EMPTY = (
    "JAX's profiler did not record the calls; another profiler may be running in this process: use "
    "--profiler python"
)


class Trace(NamedTuple):
    """The events of a recording, each list sorted."""

    calls: list[Interval]
    """The markers."""
    thunks: list[Interval]
    events: int
    """All events."""


@contextmanager
def record() -> Iterator[list[ProfileData]]:
    """Records the events inside the context. The list has the profile after its end."""
    options = ProfileOptions()
    options.host_tracer_level = HOST_LEVEL
    options.python_tracer_level = 0
    # No copies of the programs, which nothing here reads: after compilations, they took half of the
    # time of a sweep.
    options.enable_hlo_proto = False
    found: list[ProfileData] = []
    with tempfile.TemporaryDirectory(prefix="opperf-profile-") as folder:
        jax.profiler.start_trace(folder, profiler_options=options)
        try:
            yield found
        finally:
            found += _stop(Path(folder))
    if not found:
        raise ProfilerError(EMPTY)


def _stop(folder: Path) -> list[ProfileData]:
    """Ends the recording, and returns its profile."""
    state = getattr(profiler, "_profile_state", None)
    session = getattr(state, "profile_session", None)
    if state is None or session is None:
        # This version of JAX keeps it elsewhere.
        jax.profiler.stop_trace()
        return [ProfileData.from_file(str(path)) for path in folder.rglob("*.xplane.pb")]
    # Not `stop_trace`: to write all events as JSON too takes as long again.
    with state.lock:
        try:
            return [ProfileData.from_serialized_xspace(session.stop())]
        finally:
            state.reset()


def read_trace(profile: ProfileData) -> Trace:
    """Sorts a profile's events by what they are."""
    trace = Trace([], [], 0)
    count = 0
    is_thunk: dict[str, bool] = {WAIT: True}
    for plane in profile.planes:
        for line in plane.lines:
            for event in line.events:
                count += 1
                name = event.name
                begin = event.start_ns
                if name == MARKER:
                    trace.calls.append((int(begin), int(begin + event.duration_ns)))
                    continue
                known = is_thunk.get(name)
                if known is None:
                    known = is_thunk[name] = any(key == THUNK for key, _ in event.stats)
                if known:
                    trace.thunks.append((int(begin), int(begin + event.duration_ns)))
    trace.calls.sort()
    trace.thunks.sort()
    return trace._replace(events=count)


class NativeProfiler:
    """Kernel time by JAX's profiler, less the cost of recording it."""

    kind = MetricKind.KERNEL
    resolution_ns = 1.0
    """The profiler's times are of the processor's time stamp counter."""

    def __init__(self, device: str) -> None:
        self._phases: list[Callable[[], object]] = []
        self._calls_at_once = FIRST_CALLS
        self._cost = EventCost(0, EVENT_NS)

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[PhaseTimes]:
        """Runs the phases in order, `count` times `loops` times; each returns when it is done.

        Returns each phase's samples in nanoseconds, each the mean of `loops` calls; no times for a
        phase that has no thunk. They are fewer than `count` if that takes several recordings.
        Raises `ProfilerError` if nothing was recorded.
        """
        if self._phases != list(phases):
            self._phases = list(phases)
            self._calls_at_once = FIRST_CALLS
            self._cost = EventCost(len(phases), EVENT_NS)
        taken = [Taken() for _ in phases]
        done, calls = 0, count * loops
        while done < calls:
            now = min(self._calls_at_once, calls - done)
            self._record(now, taken)
            done += now
            # Each recording then takes 0.1 s to be read: the caller looks at the time.
            if calls - done > self._calls_at_once and done % loops == 0:
                break
        return [one.phase_times(loops) for one in taken]

    def _record(self, calls: int, taken: Sequence[Taken]) -> None:
        """Adds some calls of each phase to those taken so far."""
        walls: list[int] = []
        with record() as profiles:
            self._run(calls, walls)
        trace = read_trace(profiles[0])
        self._calls_at_once = max(1, MOST_EVENTS * calls // max(1, trace.events))
        if len(trace.calls) != len(walls):
            raise ProfilerError(EMPTY)
        thunks = unions_in(trace.calls, trace.thunks)
        if self._cost.rounds < COMPARED and self._cost.is_large(thunks):
            plain: list[int] = []
            self._run(min(calls, COMPARED), plain)
            self._cost.add(walls, plain, thunks)
        for number, (wall, inside) in enumerate(zip(walls, thunks, strict=True)):
            taken[number % len(taken)].add(wall, inside, self._cost.ns)

    def _run(self, calls: int, walls: list[int]) -> None:
        """Runs the phases, each call inside a marker, and adds the calls' wall-clock times."""
        for _ in range(min(WARM_CALLS, calls // CALLS_PER_WARM_CALL)):
            for phase in self._phases:
                phase()
        clock = perf_counter_ns
        for _ in range(calls):
            for phase in self._phases:
                begin = clock()
                with TraceAnnotation(MARKER):
                    result = phase()
                walls.append(clock() - begin)
                # Freed after the clock was read, and before the next phase allocates.
                del result
