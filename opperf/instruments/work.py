"""The operations of a case's passes, and the instrument of those that are only known by counting
them in a further call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from opperf.frameworks.base import Flops
from opperf.instruments.instrument import Instrument, backward_of
from opperf.instruments.times import BACKWARD
from opperf.model import KnownBy, Metric, MetricKind, NoteCode, ObjectTarget, Pass

if TYPE_CHECKING:
    from opperf.instruments.visit import Visit

FLOPS = Metric(
    "flops",
    "count",
    MetricKind.COUNT,
    description="floating-point operations of the forward pass, or of a model's training step",
    usual=False,
)
FLOPS_BACKWARD = msgspec.structs.replace(
    backward_of(FLOPS), description="floating-point operations of the backward pass"
)

FLOPS_OF: Mapping[Pass, Metric] = {"forward": FLOPS, "backward": FLOPS_BACKWARD}

LONGEST_S = 0.1
"""Seconds of a first call up to which one more is made to be counted."""


def keep_flops(visit: Visit, metric: Metric, flops: Flops, by: KnownBy = "count") -> None:
    """Keeps a pass's operations in place of an earlier count, with a note on what it lacks."""
    visit.keep_value(metric, float(flops.total))
    visit.known_by[metric.name] = by
    visit.notes = [note for note in visit.notes if note.metric != metric.name]
    if flops.uncounted:
        names = ", ".join(flops.uncounted)
        visit.note(metric.name, NoteCode.LEAST, f"are at least this: nothing counts all of {names}")


def keep_work(visit: Visit) -> None:
    """Keeps the operations that were found, but those that a compiler has counted, or of a pass
    that was not measured."""
    for name, (by, count) in visit.flops.items():
        metric = FLOPS_OF[name]
        is_measured = metric is FLOPS or BACKWARD.name in visit.summaries
        if is_measured and metric.name not in visit.summaries:
            keep_flops(visit, metric, count, by)


class CountedWork(Instrument):
    """Keeps the operations of passes. Of short calls of the framework's own functions and layers,
    what no formula gives is counted in one more call; a user's function is called as often as it is
    measured, and a compiled one has no operators to count."""

    name = "work"
    metrics = (FLOPS, FLOPS_BACKWARD)

    def measure(self, visit: Visit) -> None:
        keep_work(visit)
        target, found = visit.case.target, visit.summaries
        is_layer = isinstance(target, ObjectTarget) and not target.file
        if (
            visit.compiles
            or visit.first_s > LONGEST_S
            or visit.prepared.bound.function is not None
            or not (is_layer or visit.framework.naming.is_own(target))
        ):
            return
        if FLOPS.name not in found:
            self._count(visit, FLOPS, [visit.prepared.call])
        if BACKWARD.name in found and FLOPS_BACKWARD.name not in found:
            visit.restore()
            gradient = visit.prepared.make_gradient()
            self._count(visit, FLOPS_BACKWARD, [gradient.record, gradient.backward])

    def _count(self, visit: Visit, metric: Metric, phases: Sequence[Callable[[], object]]) -> None:
        """Keeps the operations of the last phase. None at all are no count: a framework counts none
        of what computes each element alone."""
        context = visit.framework.profilers.counting()
        if context is None:
            return
        for phase in phases[:-1]:
            phase()
        with context as counted:
            phases[-1]()
            visit.synchronize()
        if counted().total:
            keep_flops(visit, metric, counted())


WORK = CountedWork()
