"""The operations and bytes of a case's passes, and the instrument of those that are only known by
counting them in a further call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from opperf.frameworks.base import CallExtents
from opperf.frameworks.models import RunnableModel
from opperf.instruments.compilation import FLOPS, keep_flops
from opperf.instruments.instrument import Instrument, backward_of
from opperf.instruments.times import BACKWARD
from opperf.model import SEQUENCES, CallableTarget, KnownBy, Metric, OperatorTarget
from opperf.rules.work import Work, work_of

if TYPE_CHECKING:
    from opperf.instruments.visit import Visit

FLOPS_BACKWARD = msgspec.structs.replace(
    backward_of(FLOPS), description="floating-point operations of the backward pass"
)

LONGEST_S = 0.1
"""Seconds of a first call up to which one more is made to be counted."""


def note_work(visit: Visit, extents: CallExtents, results: Any) -> None:
    """Keeps the operations and bytes of a call where they are known by formula, or by the
    framework's own; else the bytes of all its tensors. What only makes views has none."""
    by: KnownBy = "minimal"
    visit.moved_bytes = extents.moved
    work = Work()
    if isinstance(visit.case.target, (CallableTarget, OperatorTarget)):
        work = work_of(visit.case, visit.framework, extents)
    if extents.are_views:
        work = work._replace(flops=0.0, bytes=0)
    if work.bytes is not None:
        visit.moved_bytes, by = work.bytes, "formula"
    if visit.moved_bytes or extents.are_views:
        visit.known_by["moved_bytes"] = by
    for metric, count in ((FLOPS, work.flops), (FLOPS_BACKWARD, work.flops_backward)):
        if count is not None:
            visit.keep_value(metric, count)
            visit.known_by[metric.name] = "formula"
    if work.flops is None and isinstance(visit.case.target, OperatorTarget):
        counted = visit.framework.call_flops(visit.case, visit.prepared.arguments, results)
        if counted is not None:
            keep_flops(visit, FLOPS, counted)


class CountedWork(Instrument):
    """Counts by the framework's own count of one more call what no formula gives of short calls. A
    compiled call has no operators to count."""

    name = "work"
    metrics = (FLOPS_BACKWARD,)

    def measure(self, visit: Visit) -> None:
        if (
            visit.compiles
            or visit.first_s > LONGEST_S
            or isinstance(visit.prepared.called, RunnableModel)
            or isinstance(visit.case.target, SEQUENCES)
        ):
            return
        if FLOPS.name not in visit.summaries:
            self._count(visit, FLOPS, [visit.prepared.call])
        if BACKWARD.name in visit.summaries and FLOPS_BACKWARD.name not in visit.summaries:
            visit.restore()
            gradient = visit.prepared.make_gradient()
            self._count(visit, FLOPS_BACKWARD, [gradient.record, gradient.backward])

    def _count(self, visit: Visit, metric: Metric, phases: Sequence[Callable[[], object]]) -> None:
        """Keeps the operations of the last phase. None at all are no count: a framework counts none
        of what computes each element alone."""
        for phase in phases[:-1]:
            phase()
        context = visit.framework.counting()
        if context is None:
            return
        with context as counted:
            phases[-1]()
            visit.synchronize()
        if counted().total:
            keep_flops(visit, metric, counted())


WORK = CountedWork()
