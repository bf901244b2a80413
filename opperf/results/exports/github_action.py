"""The JSON of github-action-benchmark's tool `customSmallerIsBetter`: a list of figures, the
smaller the better."""

from __future__ import annotations

from typing import Any

from opperf.model import Run
from opperf.results.exports.exported import Exported, exported, finite
from opperf.results.metrics import UNITS
from opperf.results.text import counted


def github_action(run: Run) -> tuple[list[dict[str, Any]], list[str]]:
    """The run's medians, an entry for each metric of each case, and warnings. Raises
    `RunFileError` if there is none."""
    found, warnings = exported(run)
    return [_entry(one, metric) for one in found for metric in one.metrics], warnings


def _entry(one: Exported, metric: str) -> dict[str, Any]:
    summary = one.record.summaries[metric]
    unit, divisor, decimals = UNITS[summary.unit]
    entry: dict[str, Any] = {
        "name": f"{one.name} {metric} {one.place}",
        "unit": unit,
        "value": round(summary.median / divisor, decimals),
        "extra": f"median of {counted(summary.n, 'sample')}\ncase {one.record.id}",
    }
    if summary.n > 1 and finite((summary.ci_low, summary.ci_high)):
        reach = max(summary.ci_high - summary.median, summary.median - summary.ci_low)
        entry["range"] = f"± {reach / divisor:.{decimals}f}"
    return entry
