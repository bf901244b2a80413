"""The instrument of recorded times: what the calls of a case took in the program it is from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opperf.instruments.instrument import ALWAYS, Instrument, Needs
from opperf.model import Metric, MetricKind

if TYPE_CHECKING:
    from opperf.instruments.visit import Visit

RECORDED = Metric(
    "recorded",
    "ns",
    MetricKind.RECORDED,
    title="Recorded",
    description="time of a call in the program that was recorded, on its machine",
    usual=False,
)


class RecordedTimes(Instrument):
    """Keeps the times that a recording or trace has of the case's calls."""

    name = "recorded"
    metrics = (RECORDED,)
    profiler = ALWAYS
    needs = Needs(quiet_machine=False)

    def measure(self, visit: Visit) -> None:
        if visit.case.recorded:
            visit.keep_value(RECORDED, *visit.case.recorded)


RECORDED_TIMES = RecordedTimes()
