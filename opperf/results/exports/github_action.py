"""The JSON of github-action-benchmark's tool `customSmallerIsBetter`: a list of figures of which
smaller ones are better."""

from __future__ import annotations

from typing import Any

from opperf.model import Metric, Run
from opperf.plurals import pluralize
from opperf.results.exports.exported import ExportEntry, select_figures
from opperf.results.figures import unit_of


def github_action(run: Run) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns the run's medians, an entry for each metric of each case, and warnings. Raises
    `RunFileError` if there is none."""
    found, warnings = select_figures(run)
    figures = [(entry, metric) for entry in found for metric in entry.metrics]
    larger = sum(not metric.lower_is_better for _, metric in figures)
    if larger:
        warnings.append(f"excluded: {pluralize(larger, 'figure')} for which larger is better")
    return [_entry(entry, metric) for entry, metric in figures if metric.lower_is_better], warnings


def _entry(one: ExportEntry, metric: Metric) -> dict[str, Any]:
    summary = one.record.summaries[metric.name]
    unit = unit_of(summary.unit)
    entry: dict[str, Any] = {
        "name": f"{one.name} {metric.name} {one.place}",
        "unit": unit.name,
        "value": summary.median / unit.size,
        "extra": f"median of {pluralize(summary.n, 'sample')}\ncase {one.record.id}",
    }
    reach = summary.half_width
    if reach is not None:
        entry["range"] = f"± {reach / unit.size}"
    return entry
