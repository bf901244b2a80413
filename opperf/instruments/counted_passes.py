"""Counts the instructions of a case's forward and backward pass."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterable

from opperf.errors import NoGradientError, UnsupportedError
from opperf.frameworks import Framework
from opperf.frameworks.base import CPU
from opperf.instruments.callgrind.counter import Counter, Counts, Phase, keep_dump
from opperf.instruments.instrument import SUFFIXES
from opperf.instruments.visit import Visit
from opperf.model import Metric, MetricKind, NoteCode, Pass

EVENTS = {
    "instructions": ("Ir",),
    "l1_misses": ("I1mr", "D1mr", "D1mw"),
    "last_level_misses": ("ILmr", "DLmr", "DLmw"),
    "branches": ("Bc", "Bi"),
    "branch_misses": ("Bcm", "Bim"),
}

STEADY = 0.001
"""Half-width of the samples, as a share of the median, from which on a count is called unsteady: a
fifth of the tolerance of a comparison."""


@functools.cache
def _counter(framework: Framework) -> Counter:
    return Counter(functools.partial(framework.synchronize, CPU))


def prepare(framework: Framework) -> None:
    """Gets this process, and its forks, ready. Raises `UnsupportedError` as `Counter` does."""
    _counter(framework).pause()


class CountedPasses:
    """Counts the instructions of a visit's passes, and keeps their dumps."""

    def __init__(self, visit: Visit, metrics: Iterable[Metric]) -> None:
        self._metrics = {metric.name: metric for metric in metrics}
        self._visit, self._prepared = visit, visit.prepared
        self._case, self._framework = visit.case, visit.framework

    def measure(self) -> None:
        device = self._case.settings.device
        if not device.startswith(CPU.partition("(")[0]):
            raise UnsupportedError(f"instructions are counted on the CPU, not on {device}")
        prepare(self._framework)
        self._visit.time_kind = MetricKind.COUNT
        begun = time.perf_counter()
        self._visit.call_first()
        passes: dict[Pass, list[Phase]] = {"forward": [self._prepared.call]}
        if "backward" in self._case.passes:
            passes |= self._backward()
        self._count(passes)
        self._visit.busy_s = time.perf_counter() - begun

    def _backward(self) -> dict[Pass, list[Phase]]:
        self._visit.restore()
        try:
            gradient = self._prepared.make_gradient()
        except NoGradientError as error:
            metric = f"instructions{SUFFIXES['backward']}"
            self._visit.note(metric, NoteCode.NO_GRADIENT, str(error))
            return {}
        return {"backward": [gradient.record, gradient.backward]}

    def _count(self, passes: dict[Pass, list[Phase]]) -> None:
        settings, restore = self._case.settings, self._visit.inputs.restore
        counter = _counter(self._framework)
        if restore is not None:
            passes = {
                # The backward pass is that of the call before it.
                name: [restore, *phases]
                for name, phases in passes.items()
            }
        found = counter.count(
            list(passes.values()),
            settings.warmup,
            settings.runs,
            on_calling_thread=settings.threads in (None, 1)
            and not self._framework.processes.has_own_threads,
        )
        for name, counts in zip(passes, found, strict=True):
            folder = self._visit.conditions.profiles
            place = folder and folder / f"{self._case.id}.{name}.callgrind"
            keep_dump(counts.dump, place)
            self._keep(name, counts)

    def _keep(self, name: Pass, counts: Counts) -> None:
        for metric, events in EVENTS.items():
            if not set(events) <= set(counts.samples):
                continue
            listed = [counts.samples[event] for event in events]
            samples = [math.fsum(counts) for counts in zip(*listed, strict=True)]
            self._set(f"{metric}{SUFFIXES[name]}", samples, counts.loops)
        if name == "forward":
            self._set("instructions_empty", [counts.empty], counts.loops)

    def _set(self, name: str, samples: list[float], loops: int) -> None:
        metric = self._metrics[name]
        summary = self._visit.keep(metric, samples, loops)
        if not metric.usual:
            return
        # A fifth of both tolerances.
        share = STEADY / metric.relative_tolerance
        allowed = max(STEADY * summary.median, share * metric.absolute_tolerance)
        if 2 * summary.mad > allowed:
            self._visit.note(
                name,
                NoteCode.UNSTEADY,
                f"the same call takes {min(samples):.0f} to {max(samples):.0f} {metric.unit}: "
                "not judged",
            )
