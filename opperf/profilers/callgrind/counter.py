"""Counts the instructions of a call's last phase, alone.

Callgrind's counts are set to zero before some calls and dumped after them. Where a phase comes
before the counted one, as the forward pass before the backward pass, callgrind collects during the
counted one only, if all of that runs on the calling thread: collection is switched for one thread.
Otherwise each call has a dump of its own, which holds for the work of all threads once the device
is synchronised.

Between cases callgrind does not instrument, as instrumented code is several times slower. Its model
of the caches begins empty when it instruments, and keeps its state from one dump to the next: the
calls that come before the first counted one fill it.

What the requests and the loop take between them, an empty phase takes too, whose count is
subtracted.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from opperf.profilers.callgrind.dumps import Dumps, totals
from opperf.profilers.callgrind.requests import Requests

Phase = Callable[[], object]

INSTRUCTIONS = "Ir"
"""Callgrind's name for executed instructions."""

SETTLING_CALLS, SETTLING_S = 50, 0.5
"""Calls before the first that is counted, and the limit on their seconds: Python adapts its code in
the first dozens of calls, and allocators their lists."""

WARM_CALLS = 2
"""Instrumented calls before the first that is counted."""

LOOPS = 10
"""Calls of a sample, so that what alternates between two calls, such as an allocator's choice, is a
tenth of it."""

SAMPLES, SINGLE_SAMPLES = 3, 9
"""Samples of a phase: the least with a median and a deviation, each of `LOOPS` calls or of one."""

BUDGET_S = 2.0
"""Limit on the seconds of a phase's samples. One is enough where calls take seconds: those have no
noise that counts."""


class Counts(NamedTuple):
    """The counts of a phase."""

    samples: dict[str, list[float]]
    """Mean counts of a call in each sample, by callgrind's name of the event; without the empty
    call's."""
    empty: float
    """Instructions of an empty call and its loop, in each call of the dumps."""
    loops: int
    """Calls of a sample."""
    dump: Path
    """The dump of the sample with the median count."""


class Counter:
    """Counts the instructions of phases. Raises `UnsupportedError` as `Requests` does."""

    def __init__(self) -> None:
        self._requests, self._dumps = Requests(), Dumps()
        self._empty: dict[tuple[int, bool], dict[str, float]] = {}
        """Counts of an empty phase, by the calls of its sample and whether another is before."""
        # What is imported stays, and no search for garbage falls into a call.
        gc.collect()
        gc.freeze()
        gc.disable()

    def count(
        self,
        passes: Sequence[Sequence[Phase]],
        synchronize: Phase,
        warmup: int | None = None,
        samples: int | None = None,
        on_calling_thread: bool = True,
    ) -> list[Counts]:
        """Counts the last phase of each of some passes. `warmup` is the number of calls before,
        `samples` the number of counted ones; None for as many as settle it and as the budget
        allows. `on_calling_thread` is whether no work is done on other threads."""
        for phases in passes:
            self._settle(phases, synchronize, SETTLING_CALLS if warmup is None else warmup)
        self._requests.start()
        try:
            return [
                self._count(phases, synchronize, samples, len(phases) == 1 or on_calling_thread)
                for phases in passes
            ]
        finally:
            self._requests.stop()

    def _count(
        self, phases: Sequence[Phase], synchronize: Phase, samples: int | None, together: bool
    ) -> Counts:
        """Counts the last of some phases, several calls together if they can be."""
        room = int(BUDGET_S / self._warm_up(phases, synchronize))
        loops = max(1, min(LOOPS, room // SAMPLES)) if together and samples is None else 1
        wanted = samples or max(1, min(SAMPLES if loops > 1 else SINGLE_SAMPLES, room))
        *before, last = phases
        loop = Loop(before, last, synchronize, loops)
        empty = self._empty_counts(loops, bool(before), synchronize)
        found = [self._sample(loop) for _ in range(wanted)]
        counted = [totals(dump) for dump in found]
        order = sorted(range(wanted), key=lambda number: counted[number][INSTRUCTIONS])
        middle = found.pop(order[wanted // 2])
        for dump in found:
            dump.unlink()
        return Counts(
            {
                event: [max(0.0, one[event] / loops - empty[event]) for one in counted]
                for event in empty
            },
            empty[INSTRUCTIONS],
            loops,
            middle,
        )

    def keep(self, counts: Counts, place: Path | None) -> None:
        """Moves the dump of some counts to a place; removes it if there is none."""
        if place is None:
            counts.dump.unlink()
        else:
            self._dumps.keep(counts.dump, place)

    def _settle(self, phases: Sequence[Phase], synchronize: Phase, calls: int) -> None:
        """Calls the phases until they always take the same path."""
        begun = time.perf_counter()
        for _ in range(calls):
            _run(phases, synchronize)
            if time.perf_counter() - begun > SETTLING_S:
                break

    def _warm_up(self, phases: Sequence[Phase], synchronize: Phase) -> float:
        """Makes the instrumented calls that are not counted. Returns the seconds of the last."""
        begun = last = time.perf_counter()
        for _ in range(WARM_CALLS):
            last = time.perf_counter()
            _run(phases, synchronize)
            if time.perf_counter() - begun > BUDGET_S:
                break
        return time.perf_counter() - last

    def _sample(self, loop: Loop) -> Path:
        """Counts a loop's calls, and returns the dump."""
        requests = self._requests
        requests.describe(f"opperf calls={loop.calls}")
        if not loop.before:
            loop.run(requests.zero, requests.dump)
        elif loop.calls == 1:
            loop.run_last(requests.zero, requests.dump)
        else:
            loop.run_parts(requests.zero, requests.toggle, requests.dump)
        return self._dumps.next()

    def _empty_counts(self, calls: int, has_before: bool, synchronize: Phase) -> dict[str, float]:
        """Returns the counts of each call of an empty phase."""
        key = calls, has_before
        if key not in self._empty:
            loop = Loop([_nothing] if has_before else [], _nothing, synchronize, calls)
            loop.adapt()
            found = []
            for _ in range(SAMPLES):
                dump = self._sample(loop)
                found.append(totals(dump))
                dump.unlink()
            self._empty[key] = {
                event: median(one[event] for one in found) / calls for event in found[0]
            }
        return self._empty[key]


class Loop(NamedTuple):
    """Calls of a phase, each with others before it. Each way to run them takes the same
    instructions for every phase but the phase's own."""

    before: Sequence[Phase]
    last: Phase
    synchronize: Phase
    calls: int

    def run(self, zero: Phase, dump: Phase) -> None:
        """Counts all calls together."""
        phase, synchronize, numbers = self.last, self.synchronize, range(self.calls)
        zero()
        for _ in numbers:
            # The previous result is freed meanwhile, as in a user's loop.
            result = phase()
        synchronize()
        dump()
        del result

    def run_last(self, zero: Phase, dump: Phase) -> None:
        """Counts one call, without those before it, on all threads."""
        phase, synchronize = self.last, self.synchronize
        for one in self.before:
            one()
        synchronize()
        zero()
        result = phase()
        synchronize()
        dump()
        del result

    def run_parts(self, zero: Phase, toggle: Phase, dump: Phase) -> None:
        """Counts all calls together, without those before them, on this thread."""
        phase, before = self.last, self.before
        zero()
        toggle()
        for _ in range(self.calls):
            for one in before:
                one()
            toggle()
            result = phase()
            toggle()
            del result
        toggle()
        dump()

    def adapt(self) -> None:
        """Has Python adapt the code of this class, which it does in the first calls."""
        for _ in range(SETTLING_CALLS):
            self.run(_nothing, _nothing)
            self.run_last(_nothing, _nothing)
            self.run_parts(_nothing, _nothing, _nothing)


def _nothing() -> None:
    """An empty phase."""


def _run(phases: Sequence[Phase], synchronize: Phase) -> None:
    for phase in phases:
        phase()
    synchronize()
