"""A comparison as a fragment of HTML for a page, without scripts and external resources."""

from __future__ import annotations

from typing import Any

from opperf.compare.files.comparison import Comparison, Row
from opperf.compare.files.reports.cells import (
    CHANGES,
    change_text,
    closing_sentences,
    difference_rows,
    figure_texts,
    interval_text,
    mark_sentences,
    mean_rows,
    ratio_text,
    remarks,
    summary_text,
    unit_of,
)
from opperf.compare.html import render
from opperf.compare.results import TITLE, different_rows, not_compared
from opperf.compare.statistics.data import Verdict
from opperf.compare.statistics.weights import Weighted
from opperf.compare.weighted import FILES, sentences, table
from opperf.model import DIFFERENT
from opperf.results.figures import Unit
from opperf.results.text import pluralize

TEMPLATE = "comparison.html.jinja"
"""The fragment's text, beside this module."""

SHADES: dict[Verdict, tuple[str, str]] = {
    Verdict.REGRESSED: ("worse", "worse"),
    Verdict.IMPROVED: ("better", "better"),
    Verdict.SUSPECT: ("better", "worse"),
    Verdict.AMBIGUOUS: ("open", "open"),
    Verdict.INVALID: ("open", "open"),
}
"""Class of a verdict's cell: where the new figure is not worse, and where it is."""


def html_report(comparison: Comparison) -> str:
    """The fragment, with every row."""
    return render(__package__, TEMPLATE, _content(comparison))


def _content(comparison: Comparison) -> dict[str, Any]:
    """The template's variables."""
    return {
        "sides": [
            (name, side.path, side.started, side.cases)
            for name, side in (("base", comparison.base), ("new", comparison.new))
        ],
        "differences": difference_rows(comparison, limit=None)[0],
        "different": different_rows(comparison.results)[0],
        "not_compared": not_compared(comparison.results).items(),
        "metrics": [_metric(comparison, metric) for metric in comparison.metrics],
        "mean_titles": ("Category", *comparison.metrics),
        "means": mean_rows(comparison),
        "weighted": comparison.weighted and _weighted(comparison.weighted),
        "changes": [
            (f"{title}: {pluralize(len(found), 'case')}", [change_text(change) for change in found])
            for kind, title in CHANGES.items()
            if (found := comparison.changes_of(kind))
        ],
        "sentences": closing_sentences(comparison),
        "commands": comparison.commands,
    }


def _weighted(found: Weighted) -> dict[str, Any]:
    """The totals weighted by count, and the operators that made the difference."""
    return table(found, FILES)._asdict() | {"sentences": sentences(found, FILES)}


def _metric(comparison: Comparison, metric: str) -> dict[str, Any]:
    rows = comparison.rows_of(metric)
    unit = unit_of(rows)
    with_settings = any(row.settings for row in rows)
    return {
        "caption": f"{metric}: {summary_text(comparison, metric)}",
        "description": rows[0].described.description,
        "titles": (
            *("Operator", "Inputs", *(["Settings"] if with_settings else [])),
            *("Ratio", "95 % interval", "Verdict", f"Base {unit.name}", f"New {unit.name}"),
        ),
        "rows": [_row(row, unit, with_settings) for row in rows],
        "sentences": mark_sentences(rows),
    }


def _difference(row: Row) -> str:
    return f"{TITLE}: {row.difference}" if row.results == DIFFERENT else ""


def _row(row: Row, unit: Unit, with_settings: bool) -> dict[str, Any]:
    return {
        "case": (row.operator, row.inputs, *([row.settings] if with_settings else [])),
        "ratio": (ratio_text(row.ratio), interval_text(row)),
        "shade": SHADES.get(row.verdict, ("", ""))[row.is_worse],
        "verdict": row.verdict.value,
        "remarks": "; ".join(filter(None, (remarks(row), _difference(row)))),
        "figures": figure_texts(row, unit),
    }
