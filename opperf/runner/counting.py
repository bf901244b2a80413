"""The measurement of a prepared case by counts: instructions of the forward and backward pass."""

from __future__ import annotations

import math
import time
from functools import partial
from pathlib import Path

from opperf.errors import NoGradientError, UnsupportedError
from opperf.frameworks import Framework
from opperf.frameworks.defaults import CPU
from opperf.metrics import BACKWARD, FORWARD, INSTRUCTIONS_EMPTY, metrics_by_name
from opperf.model import MetricKind, Note, NoteCode, Pass, Record, Status, Summary
from opperf.profilers.callgrind.counter import Counter, Counts, Phase
from opperf.profilers.summary import summarise
from opperf.runner.prepared import PreparedCase
from opperf.runner.restoring import FreshInputs

EVENTS = {
    "instructions": ("Ir",),
    "l1_misses": ("I1mr", "D1mr", "D1mw"),
    "last_level_misses": ("ILmr", "DLmr", "DLmw"),
    "branches": ("Bc", "Bi"),
    "branch_misses": ("Bcm", "Bim"),
}
"""Callgrind's events of which each metric is the sum."""

SUFFIXES: dict[str, str] = {FORWARD.name: "", BACKWARD.name: "_backward"}
"""What the name of a pass's metric ends with."""

STEADY = 0.001
"""Half-width of the samples, as a share of the median, from which on a count is called unsteady: a
fifth of the tolerance of a comparison."""


_COUNTERS: dict[str, Counter] = {}
"""The counter of this process, by the name of its framework."""


def _counter(framework: Framework) -> Counter:
    """Returns the counter of this process, which its forks have too. Raises `UnsupportedError` as
    `Counter` does."""
    if framework.name not in _COUNTERS:
        _COUNTERS[framework.name] = Counter(partial(framework.synchronize, CPU))
    return _COUNTERS[framework.name]


def prepare(framework: Framework) -> None:
    """Gets this process ready for a case, whatever it has counted before; its forks are ready then
    too. Raises `UnsupportedError` as `Counter` does."""
    _counter(framework).pause()


class Counting:
    """Counts the instructions of one prepared case. Their dumps are kept in a folder, if there is
    one."""

    def __init__(self, prepared: PreparedCase, profiles: Path | None) -> None:
        self._prepared, self._profiles = prepared, profiles
        self._case, self._framework = prepared.case, prepared.framework
        self._fresh = FreshInputs(prepared)
        self._summaries: dict[str, Summary] = {}
        self._samples: dict[str, list[float]] = {}
        self._notes: list[Note] = []

    def record(self) -> Record:
        """Counts every pass of the case, and returns the record."""
        device = self._case.settings.device
        if not device.startswith(CPU.partition("(")[0]):
            raise UnsupportedError(f"instructions are counted on the CPU, not on {device}")
        begun = time.perf_counter()
        self._prepared.call()
        self._framework.synchronize(device)
        unrestored = self._fresh.look()
        if unrestored is not None:
            self._notes.append(unrestored)
        passes: dict[Pass, list[Phase]] = {"forward": [self._prepared.call]}
        if BACKWARD.name in self._case.passes:
            passes |= self._backward()
        self._count(passes)
        return Record(
            case=self._case,
            id=self._case.id,
            status=Status.OK,
            summaries=self._summaries,
            samples=self._samples,
            notes=tuple(self._notes),
            busy_s=time.perf_counter() - begun,
            time_kind=MetricKind.COUNT,
        )

    def _backward(self) -> dict[Pass, list[Phase]]:
        """Returns the phases of the backward pass, if there is one."""
        try:
            gradient = self._prepared.make_gradient()
        except NoGradientError as error:
            metric = f"instructions{SUFFIXES[BACKWARD.name]}"
            self._notes.append(Note(metric, NoteCode.NO_GRADIENT, str(error)))
            return {}
        return {"backward": [gradient.record, gradient.backward]}

    def _count(self, passes: dict[Pass, list[Phase]]) -> None:
        """Counts the last phase of each pass, and keeps its metrics and dump."""
        settings, restore = self._case.settings, self._fresh.restore
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
            on_calling_thread=settings.process()["threads"] == 1
            and not self._framework.has_own_threads,
        )
        for name, counts in zip(passes, found, strict=True):
            place = self._profiles and self._profiles / f"{self._case.id}.{name}.callgrind"
            counter.keep(counts, place)
            self._keep(name, counts)

    def _keep(self, name: Pass, counts: Counts) -> None:
        """Keeps the metrics of a pass."""
        for metric, events in EVENTS.items():
            if not set(events) <= set(counts.samples):
                continue
            listed = [counts.samples[event] for event in events]
            samples = [math.fsum(one) for one in zip(*listed, strict=True)]
            self._set(f"{metric}{SUFFIXES[name]}", samples, counts.loops)
        if name == FORWARD.name:
            self._set(INSTRUCTIONS_EMPTY.name, [counts.empty], counts.loops)

    def _set(self, name: str, samples: list[float], loops: int) -> None:
        metric = metrics_by_name()[name]
        self._samples[name] = samples
        summary = self._summaries[name] = summarise(samples, metric.unit, loops)
        if not metric.usual:
            return
        # A fifth of both tolerances.
        share = STEADY / metric.relative_tolerance
        allowed = max(STEADY * summary.median, share * metric.absolute_tolerance)
        if 2 * summary.mad > allowed:
            self._notes.append(
                Note(
                    name,
                    NoteCode.UNSTEADY,
                    f"the same call takes {min(samples):.0f} to {max(samples):.0f} {metric.unit}: "
                    "not judged",
                )
            )
