"""The instruments of times: what the forward and the backward pass take, by any profiler, and what
a call took in the program that it was recorded in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opperf.instruments.instrument import ALWAYS, Instrument, Needs
from opperf.model import Case, Metric, MetricKind, Settings

if TYPE_CHECKING:
    from opperf.instruments.visit import Visit

FORWARD = Metric(
    "forward",
    "ns",
    MetricKind.WALL,
    description="time of the forward pass, as the profiler of the record measures it",
)

BACKWARD = Metric(
    "backward",
    "ns",
    MetricKind.WALL,
    description="time of the backward pass, as the profiler of the record measures it",
)

TOTAL = Metric(
    "total",
    "ns",
    MetricKind.WALL,
    description="time of both passes together",
    usual=False,
)

KERNEL = Metric(
    "kernel",
    "ns",
    MetricKind.KERNEL,
    description="time of the forward pass, if the profiler measures kernels",
    usual=False,
)


class Times(Instrument):
    """Times the passes under the profiler of the case's settings."""

    name = "times"
    metrics = (FORWARD, BACKWARD, TOTAL, KERNEL)
    needs = Needs(steady_clocks=True)

    def expected(self, case: Case) -> tuple[str, ...]:
        return case.passes

    def effort(self, settings: Settings) -> list[str]:
        runs = settings.runs
        return [
            f"medians to {settings.precision:.1%}"
            if runs is None
            else f"{runs} timed {'call' if runs == 1 else 'calls'}",
            "" if settings.max_time_s is None else f"at most {settings.max_time_s:g} s a case",
        ]

    def measure(self, visit: Visit) -> None:
        from opperf.instruments.sampled_passes import SampledPasses

        SampledPasses(visit).measure(FORWARD, BACKWARD, TOTAL)


TIMES = Times()


RECORDED = Metric(
    "recorded",
    "ns",
    MetricKind.RECORDED,
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
