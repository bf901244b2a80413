"""A comparison as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from opperf.compare.files.comparison import ChangeKind, Comparison, Row, Side
from opperf.compare.files.reports.cells import (
    CHANGES,
    SHOWN_NAMES,
    base_figure,
    change_text,
    closing_sentences,
    difference_rows,
    interval_text,
    mean_rows,
    new_figure,
    operators_text,
    ratio_text,
    reasons,
    shortened,
    shown_rows,
    summary_text,
    unit_of,
)
from opperf.errors import one_line
from opperf.results.table import inputs_cell
from opperf.results.terminal import Column, table_text
from opperf.results.text import counted, cut, wrapped
from opperf.results.units import aligned, shown

WIDTH = 100
"""Columns that sentences are wrapped to where the reader's terminal is not known; tables are then
as wide as they are."""

OPERATOR_WIDTH = 24
"""Columns of an operator's name: the ratio, its interval, the verdict and some of the inputs then
fit into 80."""

VALUE_WIDTH = 34
"""Columns of an environment's value: both sides of it then fit beside its name."""


def text_report(comparison: Comparison, width: int | None = None) -> str:
    """The report, no wider than `width` columns but for the command it ends with."""
    columns = width or WIDTH
    sections = [
        _sides(comparison, width),
        _differences(comparison, width),
        *(_metric(comparison, metric, width) for metric in comparison.metrics),
        _means(comparison, width),
        *(_changes(comparison, kind, columns) for kind in CHANGES),
        "\n".join(wrapped(sentence, columns) for sentence in closing_sentences(comparison)),
    ]
    text = "\n\n".join(section for section in sections if section)
    lines = [cut(line.rstrip(), width) for line in text.splitlines()]
    if comparison.confirm:
        # It is there to be copied, and is never cut.
        lines += ["", "To confirm:", f"  {comparison.confirm}"]
    return "\n".join(lines) + "\n"


def _sides(comparison: Comparison, width: int | None) -> str:
    sides = (("base", comparison.base), ("new", comparison.new))
    paths = max(len(side.path) for _, side in sides)
    lines = (f"{name:<6}{side.path:<{paths + 2}}{_of_side(side)}" for name, side in sides)
    return "\n".join(cut(line, width) for line in lines)


def _of_side(side: Side) -> str:
    facts = (side.started, counted(side.cases, "case"), "averages only" if side.averages else "")
    return ", ".join(fact for fact in facts if fact)


def _differences(comparison: Comparison, width: int | None) -> str:
    rows, more = difference_rows(comparison)
    if not rows:
        return "The environments do not differ, as far as the files tell."
    cells = [[name, *(one_line(value, VALUE_WIDTH) for value in values)] for name, *values in rows]
    table = _table(("Environment", "Base", "New"), cells, width)
    return f"{table}\n{more}" if more else table


def _metric(comparison: Comparison, metric: str, width: int | None) -> str:
    """One metric: its verdicts in a sentence, its table, and why some have none."""
    rows = comparison.rows_of(metric)
    shown, more = shown_rows(rows)
    sentence = f"{metric}: {summary_text(comparison, metric)}"
    lines = [
        wrapped(sentence, width or WIDTH),
        "",
        _rows(shown, width),
        *([more] if more else []),
        *reasons(rows),
    ]
    return "\n".join(lines)


def _rows(rows: Sequence[Row], width: int | None) -> str:
    """The table of one metric's rows. In a terminal too narrow for the figures themselves the
    ratios have to do."""
    unit = unit_of(rows)
    names = [row.operator for row in rows]
    if width is not None:
        names = [shortened(name, OPERATOR_WIDTH) for name in names]
    columns = [
        Column("Operator", names),
        Column("Ratio", [ratio_text(row.ratio) for row in rows], is_text=False),
        *([_intervals(rows)] if any(row.low is not None for row in rows) else []),
        Column("Verdict", [row.verdict.value for row in rows]),
        *(
            Column(
                f"{title} {unit.name}",
                aligned([shown(read(row), unit) for row in rows]),
                is_text=False,
                is_extra=True,
            )
            for title, read in (("Base", base_figure), ("New", new_figure))
        ),
        Column("Inputs", [inputs_cell(row.inputs, width) for row in rows]),
    ]
    return table_text(columns, width)


def _intervals(rows: Sequence[Row]) -> Column:
    return Column("95 % interval", [interval_text(row) for row in rows], is_text=False)


def _means(comparison: Comparison, width: int | None) -> str:
    rows = mean_rows(comparison)
    if not rows:
        return ""
    return _table(("Geometric mean (cases)", *comparison.metrics), rows, width, texts=1)


def _changes(comparison: Comparison, kind: ChangeKind, width: int) -> str:
    """The cases of one kind of change: with their reasons where they have some."""
    changes = comparison.changes_of(kind)
    if not changes:
        return ""
    title = f"{CHANGES[kind]}: {counted(len(changes), 'case')}"
    if not any(change.reason for change in changes):
        return wrapped(f"{title}: {operators_text(changes)}", width)
    lines = [f"  {change_text(change)}" for change in changes[:SHOWN_NAMES]]
    more = len(changes) - SHOWN_NAMES
    return "\n".join([f"{title}:", *lines, *([f"  and {more} more"] if more > 0 else [])])


def _table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    texts: int | None = None,
) -> str:
    """A table; the columns after the first `texts` ones hold numbers."""
    cells = zip(*rows, strict=True)
    return table_text(
        [
            Column(title, column, is_text=texts is None or place < texts)
            for place, (title, column) in enumerate(zip(titles, cells, strict=True))
        ],
        width,
    )
