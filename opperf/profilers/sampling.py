"""Samples of phases, from the first warm call to the one that is enough."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from opperf.frameworks.timing import MOST_CALLS, Profiler, Timed
from opperf.profilers.stopping import Criterion, Taken

Phases = Sequence[Callable[[], object]]

RESOLUTIONS = 1000
"""Steps of the clock that a sample is long at least, so that rounding is a thousandth of it."""

LONGEST_SAMPLE_S = 0.02
"""Wall time of a sample at most: where kernels are a small part of what a call takes, rounding
averages out over the samples instead."""

CALIBRATING = 5
"""Calls whose median tells how many make a sample."""

WARM_CALLS = 5
"""Calls of a stretch. Its quickest stands for its level: interruptions only ever add time."""

WARM_GAIN = 0.02
"""By how much less a stretch takes than the one before while it is still getting warm; less is
within the noise of a quiet machine."""


class Sampled(NamedTuple):
    """What was sampled."""

    phases: list[Timed]
    """The samples of each phase."""
    loops: int
    """Calls that each sample is the mean of."""


def warm_up(
    phases: Phases, wait: Callable[[], object], first_s: float, most_s: float, calls: int | None
) -> float:
    """Run the phases until they take no less time, or so many times if that is told, but for
    `most_s` at most; the seconds they take once, which was `first_s` the first time."""
    begun, done, level, stretch = time.perf_counter(), 0, math.inf, [first_s]
    # What took its share the first time is warm by that.
    while (calls is None or done < calls) and max(first_s, time.perf_counter() - begun) < most_s:
        if calls is None and len(stretch) == WARM_CALLS:
            quickest = min(stretch)
            if quickest > (1 - WARM_GAIN) * level:
                break
            level, stretch = quickest, []
        before = time.perf_counter()
        for phase in phases:
            phase()
        wait()
        stretch.append(time.perf_counter() - before)
        done += 1
    return min(stretch)


def loops_for(profiler: Profiler, phases: Phases, asked: int, call_s: float) -> int:
    """How many calls make a sample of the asked phase that is long against the clock's steps; one
    time through the phases takes some `call_s` seconds."""
    if 2 * call_s > LONGEST_SAMPLE_S:
        return 1
    timed = profiler.trace(phases, CALIBRATING)
    if not timed[asked].times:
        return 1
    # What takes no longer than the timing itself is found to take no time.
    step_ns = profiler.resolution_ns
    call_ns = max(step_ns, _middle(timed[asked].times))
    wall_ns = max(step_ns, sum(_middle(phase.walls) for phase in timed))
    wanted = math.ceil(RESOLUTIONS * step_ns / call_ns)
    return max(1, min(wanted, int(LONGEST_SAMPLE_S * 1e9 / wall_ns)))


def _middle(times: Sequence[float]) -> float:
    return sorted(times)[len(times) // 2]


def _joined(before: Timed, more: Timed) -> Timed:
    """The samples of a phase so far, extended by more of them."""
    before.times.extend(more.times)
    before.walls.extend(more.walls)
    before.calls.extend(more.calls[: MOST_CALLS - len(before.calls)])
    return before._replace(batch=more.batch)


def sampled(
    profiler: Profiler,
    phases: Phases,
    asked: int,
    criteria: Sequence[Criterion],
    call_s: float,
    loops: int,
) -> Sampled:
    """Sample until one of the criteria says that the phase asked about has enough; one time
    through the phases takes some `call_s` seconds."""
    found = [Timed([], [], []) for _ in phases]
    begun, count = time.perf_counter(), 0
    sample_s = loops * call_s
    while True:
        spent = time.perf_counter() - begun
        taken = Taken(found[asked].times, count, spent)
        if any(criterion.met(taken) for criterion in criteria):
            return Sampled(found, loops)
        sample_s = spent / count if count else sample_s
        batch = max(1, min(criterion.room(taken, sample_s) for criterion in criteria))
        more = profiler.trace(phases, batch, loops)
        found = [_joined(one, other) for one, other in zip(found, more, strict=True)]
        count += batch
