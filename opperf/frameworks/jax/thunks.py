"""Kernel time by JAX's own profiler: that of XLA's thunks, the steps of a compiled program.

Each call is inside a marker of the profiler, and its thunks are those that begin within it, on
whatever thread they ran: on a CPU short programs run in the calling thread, others in XLA's pool. A
thunk that starts work and returns ends with the program's wait for it.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

import jax
import jax.numpy as jnp
from jax.profiler import TraceAnnotation

from opperf.errors import ProfilerError
from opperf.frameworks.base import CPU
from opperf.frameworks.event_cost import EventCost
from opperf.frameworks.jax import recompiling
from opperf.frameworks.jax.devices import jax_device, platform_of
from opperf.frameworks.jax.trace import EMPTY, MARKER, read_trace, record
from opperf.frameworks.recording import Taken, Union, unions_in
from opperf.frameworks.timing import PhaseTimes
from opperf.model import MetricKind

STEPS = (2, 34)
"""Steps of the loops that measure what recording a thunk takes, a shorter and a longer one. Each
has five thunks, which take 20 ns."""

CALLS, RECORDINGS = 50, 3
"""Calls of each loop in a recording, and number of recordings: the cost is then the same within
2 % in one process after another, and takes 0.2 s."""

FIRST_CALLS = 1
MOST_EVENTS = 50_000
"""Calls of the first recording, which shows how many events a call has, and maximum number of
events of a later one: each takes two microseconds to be read."""

COMPARED = 25
"""Calls without recording that measure what it takes: of so many, on a busy machine too, most are
not interrupted."""

WARM_CALLS = 3
CALLS_PER_WARM_CALL = 5
"""Calls at the begin of a recording that are not timed, as the caches are full of the last one's
events; and timed calls for each of these."""


@functools.cache
def thunk_ns() -> float:
    """Returns the nanoseconds that recording a thunk inside another one takes on a CPU: how much
    more the steps of a loop take when they are recorded. Measured once in a process: where a case's
    thunks run in XLA's pool, waking its threads moves the time of a call by more than that."""
    calls = [_loop(steps) for steps in STEPS]
    inside: list[list[Union]] = [[] for _ in calls]
    walls: list[list[int]] = [[] for _ in calls]
    for _ in range(RECORDINGS):
        with record() as profiles:
            run_in_turns(calls, CALLS)
        trace = read_trace(profiles[0])
        unions = unions_in(trace.calls, trace.thunks)
        plain = run_in_turns(calls, CALLS)
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
    """Returns a call of a program that is a loop of so many steps."""

    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        return 0.9 * carry + row, carry

    def loop(first: Any, rows: Any) -> Any:
        return jax.lax.scan(step, first, rows)

    with recompiling.expected(), jax.default_device(jax_device(CPU)):
        arrays = jnp.ones((2, 32)), jnp.ones((steps, 2, 32))
        program = jax.jit(loop).lower(*arrays).compile()
        call = functools.partial(program, *arrays)
        jax.block_until_ready(call())
    return lambda: jax.block_until_ready(call())


def run_in_turns(phases: Sequence[Callable[[], object]], count: int) -> list[int]:
    """Runs the phases in order, `count` times, each inside a marker; before that, a few times
    outside. Returns the wall-clock times of those inside, in nanoseconds."""
    for _ in range(min(WARM_CALLS, count // CALLS_PER_WARM_CALL)):
        for phase in phases:
            phase()
    walls = []
    clock = perf_counter_ns
    for _ in range(count):
        for phase in phases:
            begin = clock()
            with TraceAnnotation(MARKER):
                result = phase()
            walls.append(clock() - begin)
            # Freed after the clock was read, and before the next phase allocates.
            del result
    return walls


class NativeProfiler:
    """Kernel time by JAX's profiler, less the cost of recording it."""

    kind = MetricKind.KERNEL
    resolution_ns = 1.0
    """The profiler's times are of the processor's time stamp counter."""

    def __init__(self, device: str) -> None:
        self._phases: list[Callable[[], object]] = []
        self._calls_at_once = FIRST_CALLS
        # Other devices record their kernels themselves.
        self._thunk_ns = thunk_ns() if platform_of(device) == "cpu" else 0.0

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
        taken = [Taken() for _ in phases]
        done, calls = 0, count * loops
        while done < calls:
            now = min(self._calls_at_once, calls - done)
            self._record(now, taken)
            done += now
            # Each recording then takes 0.1 s to be read: the caller looks at the time.
            if calls - done > self._calls_at_once and done % loops == 0:
                break
        return [samples.phase_times(loops) for samples in taken]

    def _record(self, calls: int, taken: Sequence[Taken]) -> None:
        """Adds some calls of each phase to those taken so far."""
        with record() as profiles:
            walls = run_in_turns(self._phases, calls)
        trace = read_trace(profiles[0])
        self._calls_at_once = max(1, MOST_EVENTS * calls // max(1, trace.events))
        if len(trace.calls) != len(walls):
            raise ProfilerError(EMPTY)
        thunks = unions_in(trace.calls, trace.thunks)
        phases = [slice(place, None, len(taken)) for place in range(len(taken))]
        # Of this recording: another one may have to ask the system for memory, and cost twice as
        # much.
        costs = [EventCost(self._thunk_ns) for _ in phases]
        pairs = list(zip(costs, phases, strict=True))
        if any(cost.is_large(thunks[own]) for cost, own in pairs):
            plain = run_in_turns(self._phases, min(calls, COMPARED))
            for cost, own in pairs:
                cost.add(walls[own], plain[own], thunks[own])
        for number, (wall, inside) in enumerate(zip(walls, thunks, strict=True)):
            phase = number % len(taken)
            taken[phase].add(wall, inside, costs[phase].ns)
