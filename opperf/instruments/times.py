"""The instruments of times: what the forward and the backward pass take, by any profiler, and what
a call took in the program that it was recorded in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opperf.instruments.instrument import ALWAYS, Instrument, Needs
from opperf.model import Case, Metric, MetricKind, Settings

if TYPE_CHECKING:
    from opperf.instruments.visit import Visit


def time_metric(
    name: str, description: str, kind: MetricKind = MetricKind.WALL, **more: Any
) -> Metric:
    """Returns the metric of a time in nanoseconds."""
    return Metric(name, "ns", kind, description=f"time of {description}", **more)


FORWARD = time_metric("forward", "the forward pass, as the profiler of the record measures it")
BACKWARD = time_metric("backward", "the backward pass, as the profiler of the record measures it")
TOTAL = time_metric("total", "both passes together", usual=False)
KERNEL = time_metric(
    "kernel", "the forward pass, if the profiler measures kernels", MetricKind.KERNEL, usual=False
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


RECORDED = time_metric(
    "recorded",
    "a call in the program that was recorded, on its machine",
    MetricKind.RECORDED,
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
