"""A comparison as a fragment of HTML, to be put into a page: no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from opperf.compare.files.comparison import ChangeKind, Comparison, Row
from opperf.compare.files.reports.cells import (
    CHANGES,
    change_text,
    closing_sentences,
    difference_rows,
    figure_text,
    interval_text,
    mean_rows,
    ratio_text,
    remarks,
    summary_text,
    unit_of,
)
from opperf.compare.statistics.data import Verdict
from opperf.results.text import counted

CLASS = "opperf-compare"
"""Of the fragment: its style concerns nothing else in the page."""

STYLE = f"""<style>
.{CLASS} table {{ border-collapse: collapse; margin: 0.5em 0 1em; }}
.{CLASS} caption, .{CLASS} summary {{ font-weight: bold; text-align: left; padding: 0.3em 0; }}
.{CLASS} th, .{CLASS} td {{ border: 1px solid #8886; padding: 0.2em 0.6em; text-align: left; }}
.{CLASS} td.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
.{CLASS} td.more {{ background: #d1242f2e; }}
.{CLASS} td.less {{ background: #1a7f372e; }}
.{CLASS} td.open {{ background: #9a670022; }}
.{CLASS} pre {{ white-space: pre-wrap; }}
</style>"""
"""Colours are translucent, so that they suit a light page and a dark one."""

SHADES: dict[Verdict, tuple[str, str]] = {
    Verdict.REGRESSED: ("more", "more"),
    Verdict.IMPROVED: ("less", "less"),
    Verdict.SUSPECT: ("less", "more"),
    Verdict.AMBIGUOUS: ("open", "open"),
    Verdict.INVALID: ("open", "open"),
}
"""Class of a verdict's cell where the new figure is not the larger one, and where it is."""


def html_report(comparison: Comparison) -> str:
    """The fragment, with every row."""
    parts = [
        STYLE,
        _table(
            "Files",
            ("", "File", "Started", "Cases"),
            [
                [name, side.path, side.started, str(side.cases)]
                for name, side in (("base", comparison.base), ("new", comparison.new))
            ],
        ),
        _table(
            "Environment",
            ("Field", "Base", "New"),
            difference_rows(comparison, limit=None)[0],
        )
        or "<p>The environments do not differ, as far as the files tell.</p>",
        *(_metric(comparison, metric) for metric in comparison.metrics),
        _table("Geometric means (cases)", ("Category", *comparison.metrics), mean_rows(comparison)),
        *(_changes(comparison, title, kind) for kind, title in CHANGES.items()),
        *(f"<p>{escape(sentence)}</p>" for sentence in closing_sentences(comparison)),
    ]
    if comparison.confirm:
        parts.append(f"<p>To confirm:</p>\n<pre>{escape(comparison.confirm)}</pre>")
    body = "\n".join(part for part in parts if part)
    return f'<section class="{CLASS}">\n{body}\n</section>\n'


def _metric(comparison: Comparison, metric: str) -> str:
    rows = comparison.rows_of(metric)
    unit = unit_of(rows)
    titles = (
        "Operator",
        "Inputs",
        "Ratio",
        "95 % interval",
        "Verdict",
        f"Base {unit}",
        f"New {unit}",
    )
    caption = f"{metric}: {summary_text(comparison, metric)}"
    return _assembled(caption, titles, map(_row, rows))


def _row(row: Row) -> str:
    shade = SHADES.get(row.verdict, ("", ""))[row.slower]
    remark = remarks(row)
    title = f' title="{escape(remark)}"' if remark else ""
    verdict = f'<td class="{shade}"{title}>{escape(row.verdict.value)}</td>'
    numbers = (ratio_text(row.ratio), interval_text(row))
    figures = (figure_text(row.base, row.unit), figure_text(row.new, row.unit))
    return (
        _cells((row.operator, row.inputs))
        + _cells(numbers, "number")
        + verdict
        + _cells(figures, "number")
    )


def _changes(comparison: Comparison, title: str, kind: ChangeKind) -> str:
    changes = comparison.changes_of(kind)
    if not changes:
        return ""
    items = "\n".join(f"<li>{escape(change_text(change))}</li>" for change in changes)
    heading = f"{title}: {counted(len(changes), 'case')}"
    return f"<details><summary>{escape(heading)}</summary>\n<ul>\n{items}\n</ul>\n</details>"


def _table(caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return _assembled(caption, titles, map(_cells, rows)) if rows else ""


def _assembled(caption: str, titles: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    lines = "\n".join(f"<tr>{cells}</tr>" for cells in rows)
    return (
        f"<table>\n<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{lines}\n</tbody>\n</table>"
    )


def _cells(texts: Iterable[str], kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return "".join(f"<td{attribute}>{escape(text)}</td>" for text in texts)
