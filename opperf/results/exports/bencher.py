"""Bencher's metric format, version 0, as `bencher run --adapter json` reads it.

An object of benchmarks, each an object of measures, each with a `value` and, if there is an
interval, `lower_value` and `upper_value`. Units are set in Bencher itself.
"""

from __future__ import annotations

from typing import Any

from opperf.instruments.times import BACKWARD, FORWARD
from opperf.model import Run, Summary
from opperf.results.exports.exported import are_finite, select_figures

MEASURES = {FORWARD.name: "latency", BACKWARD.name: "backward-latency"}
"""Metrics whose measure has another name. Every project of Bencher has `latency`, in nanoseconds;
the other measures are created by their first use, in the metric's unit."""


def bencher(run: Run) -> tuple[dict[str, Any], list[str]]:
    """Returns the run's medians with their intervals, and warnings. Raises `RunFileError` if there
    is none."""
    found, warnings = select_figures(run)
    return {
        f"{entry.name} {entry.place}": {
            MEASURES.get(metric.name, metric.name): _measure(entry.record.summaries[metric.name])
            for metric in entry.metrics
        }
        for entry in found
    }, warnings


def _measure(summary: Summary) -> dict[str, float]:
    bounds = {"lower_value": summary.ci_low, "upper_value": summary.ci_high}
    has_interval = summary.n > 1 and are_finite(bounds.values())
    return {"value": summary.median, **(bounds if has_interval else {})}
