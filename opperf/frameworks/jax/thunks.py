"""Kernel time by JAX's own profiler: that of XLA's thunks, the steps of a compiled program. A
call's thunks are those that begin within its marker, on whatever thread: on a CPU short programs
run in the calling thread, others in XLA's pool. A thunk that starts work and returns ends with the
program's wait for it."""

from __future__ import annotations

import functools
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter_ns
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.profiler import TraceAnnotation

from opperf.errors import ProfilerError
from opperf.frameworks.base import CPU
from opperf.frameworks.jax import private, programs
from opperf.frameworks.jax.compiling import expected
from opperf.frameworks.jax.devices import jax_device, platform_of
from opperf.frameworks.recording import (
    EventCost,
    Interval,
    RecordingProfiler,
    Taken,
    Union,
    of_each,
    unions_in,
    warm_up,
)

MARKER = "opperf::call"

THUNK = "hlo_op"
"""The statistic of a profile that thunks alone have: the operation that one is of."""

MODULE = "hlo_module"
"""The statistic of a thunk with the name of its program."""

WAIT = "ThunkExecutor::Execute (wait for completion)"

HOST_LEVEL = 3
"""Level of the host's tracer at which thunks are recorded."""

EMPTY = (
    "JAX's profiler did not record the calls; another profiler may be running in this process: use "
    "--profiler python"
)


class Trace(NamedTuple):
    """The events of a recording, each list sorted."""

    calls: list[Interval]
    thunks: list[Interval]
    events: int


@contextmanager
def record() -> Iterator[list[Any]]:
    """Records the events inside; the list has the profile after its end. Raises
    `UnsupportedError`."""
    private.PROFILE_DATA.get()
    options = private.PROFILE_OPTIONS.get()()
    options.host_tracer_level = HOST_LEVEL
    options.python_tracer_level = 0
    # No copies of the programs, which nothing here reads: after compilations, they took half of the
    # time of a sweep.
    options.enable_hlo_proto = False
    found: list[Any] = []
    with tempfile.TemporaryDirectory(prefix="opperf-profile-") as folder:
        with _without_messages():
            jax.profiler.start_trace(folder, profiler_options=options)
        try:
            yield found
        finally:
            with _without_messages():
                found += _stop(Path(folder))
    if not found:
        raise ProfilerError(EMPTY)


STDERR = 2
"""The descriptor that XLA prints to."""

TENSORFLOW = b"Can't import tensorflow"
"""Printed at each recording's begin and end where TensorFlow, which XLA offers it, is missing."""


@contextmanager
def _without_messages() -> Iterator[None]:
    """Keeps these messages, and no others, from the terminal."""
    try:
        before = os.dup(STDERR)
    except OSError:
        # The process has closed it, as daemons do.
        yield
        return
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), STDERR)
        try:
            yield
        finally:
            os.dup2(before, STDERR)
            os.close(before)
            printed.seek(0)
            for line in printed:
                if TENSORFLOW not in line:
                    os.write(STDERR, line)


def _stop(folder: Path) -> list[Any]:
    data, state = private.PROFILE_DATA.get(), private.PROFILE_STATE.find()
    session = private.session_of(state)
    if session is None:
        # This version of JAX keeps it elsewhere.
        jax.profiler.stop_trace()
        return [data.from_file(str(path)) for path in folder.rglob("*.xplane.pb")]
    # Not `stop_trace`: to write all events as JSON too takes as long again.
    with state.lock:
        try:
            return [data.from_serialized_xspace(session.stop())]
        finally:
            state.reset()


def read_trace(profile: Any) -> Trace:
    """Sorts a profile's events by what they are."""
    trace = Trace([], [], 0)
    count = 0
    is_thunk: dict[str, bool] = {WAIT: True}
    for plane in profile.planes:
        for line in plane.lines:
            is_last = False
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
                if known and name != WAIT:
                    is_last = (
                        programs.LAST_STEP in name and (MODULE, programs.LAST_MODULE) in event.stats
                    )
                # That program is no work of the call, and what it waits for has thunks of its own.
                if known and not is_last:
                    trace.thunks.append((int(begin), int(begin + event.duration_ns)))
    trace.calls.sort()
    trace.thunks.sort()
    return trace._replace(events=count)


STEPS = (2, 34)
"""Steps of the loops that measure a thunk's recording, each of five thunks of 20 ns."""

CALLS, RECORDINGS = 50, 3
"""Calls of each loop in a recording, and number of recordings: the cost is then the same within
2 % in one process after another, and takes 0.2 s."""

COMPARED = 25
"""Calls without recording that measure what it takes: enough that most are not interrupted."""


@functools.cache
def thunk_ns() -> float:
    """Returns the nanoseconds that recording a thunk inside another takes on a CPU: how much more
    the steps of a loop take. Measured once in a process: where a case's thunks run in XLA's pool,
    waking its threads moves the time of a call by more than that."""
    calls = [_loop(steps) for steps in STEPS]
    inside: list[list[Union]] = [[] for _ in calls]
    walls: list[list[int]] = [[] for _ in calls]
    for _ in range(RECORDINGS):
        with record() as profiles:
            run_in_turns(calls, CALLS)
        trace = read_trace(profiles[0])
        unions = unions_in(trace.calls, trace.thunks)
        plain, _ = run_in_turns(calls, CALLS)
        if len(unions) != len(plain):
            raise ProfilerError(EMPTY)
        for place in range(len(calls)):
            inside[place] += unions[place :: len(calls)]
            walls[place] += plain[place :: len(calls)]
    few, many = (statistics.median(union.events for union in unions) for unions in inside)
    if few == many:
        # A version that records no thunks of a loop's body.
        return 0.0
    # Of both, what a call has besides its steps is not in the difference.
    short_ns, long_ns = (
        statistics.median(union.length_ns for union in unions) for unions in inside
    )
    plain_ns = statistics.median(walls[1]) - statistics.median(walls[0])
    return max(0.0, (long_ns - short_ns - plain_ns) / (many - few))


def _loop(steps: int) -> Callable[[], object]:
    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        return 0.9 * carry + row, carry

    def loop(first: Any, rows: Any) -> Any:
        return jax.lax.scan(step, first, rows)

    with expected(), jax.default_device(jax_device(CPU)):
        arrays = jnp.ones((2, 32)), jnp.ones((steps, 2, 32))
        program = jax.jit(loop).lower(*arrays).compile()
        call = functools.partial(program, *arrays)
        jax.block_until_ready(call())
    return lambda: jax.block_until_ready(call())


def run_in_turns(phases: Sequence[Callable[[], object]], count: int) -> tuple[list[int], object]:
    """Returns the wall-clock times of the phases in order, `count` times, each inside a marker, in
    nanoseconds, and what the last call returned; before that, they run a few times outside."""
    warm_up(phases, count)
    walls = []
    result: object = None
    clock = perf_counter_ns
    for _ in range(count):
        for phase in phases:
            # Freed while the clock is not read, and before the next phase allocates.
            result = None
            begin = clock()
            with TraceAnnotation(MARKER):
                result = phase()
            walls.append(clock() - begin)
    return walls, result


class NativeProfiler(RecordingProfiler):
    """Kernel time by JAX's profiler, less the cost of recording it."""

    reads_slowly = True

    def __init__(self, device: str) -> None:
        super().__init__()
        # Other devices record their kernels themselves.
        self._thunk_ns = thunk_ns() if platform_of(device) == "cpu" else 0.0

    def _record(self, calls: int, taken: Sequence[Taken]) -> int:
        self._last = ()
        with record() as profiles:
            walls, result = run_in_turns(self._phases, calls)
        self._last = (result,)
        del result
        trace = read_trace(profiles[0])
        self._limit(calls, trace.events)
        if len(trace.calls) != len(walls):
            raise ProfilerError(EMPTY)
        thunks = unions_in(trace.calls, trace.thunks)
        phases = of_each(len(taken))
        # Of this recording: another one may have to ask the system for memory, and cost twice as
        # much.
        costs = [EventCost(self._thunk_ns) for _ in phases]
        pairs = list(zip(costs, phases, strict=True))
        if any(cost.is_large(thunks[own]) for cost, own in pairs):
            self._last = ()
            plain, result = run_in_turns(self._phases, min(calls, COMPARED))
            self._last = (result,)
            for cost, own in pairs:
                cost.add(walls[own], plain[own], thunks[own])
        for number, (wall, inside) in enumerate(zip(walls, thunks, strict=True)):
            phase = number % len(taken)
            taken[phase].add(wall, inside, costs[phase].ns)
        return calls
