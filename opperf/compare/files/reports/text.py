"""A comparison as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tabulate import tabulate

from opperf.compare.files.comparison import ChangeKind, Comparison, Row, Side
from opperf.compare.files.reports.cells import (
    CHANGES,
    SHOWN_NAMES,
    change_text,
    closing_sentences,
    difference_rows,
    figure_text,
    interval_text,
    mean_rows,
    operators_text,
    ratio_text,
    reasons,
    shortened,
    shown_rows,
    summary_text,
    unit_of,
    wrapped,
)
from opperf.errors import one_line
from opperf.results.text import counted, cut

WIDTH = 100
"""Columns that sentences are wrapped to where the reader's terminal is not known; tables are then
as wide as they are."""

OPERATOR_WIDTH = 24
"""Columns of an operator's name: the ratio, its interval, the verdict and some of the inputs then
fit into 80."""

INPUTS_WIDTH = 60
"""Columns of the inputs, where a terminal is wide enough."""

INPUTS_LEAST = 20
"""Columns of the inputs that are to be seen: in a terminal too narrow for them and for the figures
the ratios have to do."""

TEXTS = ("Operator", "Verdict", "Inputs")
"""Columns of a metric's table that do not hold numbers."""

VALUE_WIDTH = 34
"""Columns of an environment's value: both sides of it then fit beside its name."""


def text_report(comparison: Comparison, width: int | None = None) -> str:
    """The report, no wider than `width` columns but for the command it ends with."""
    columns = width or WIDTH
    sections = [
        _sides(comparison),
        _differences(comparison),
        *(_metric(comparison, metric, width) for metric in comparison.metrics),
        _means(comparison),
        *(_changes(comparison, kind, columns) for kind in CHANGES),
        "\n".join(wrapped(sentence, columns) for sentence in closing_sentences(comparison)),
    ]
    text = "\n\n".join(section for section in sections if section)
    lines = [cut(line.rstrip(), width) for line in text.splitlines()]
    if comparison.confirm:
        # It is there to be copied, and is never cut.
        lines += ["", "To confirm:", f"  {comparison.confirm}"]
    return "\n".join(lines) + "\n"


def _sides(comparison: Comparison) -> str:
    sides = (("base", comparison.base), ("new", comparison.new))
    return _table([[name, side.path, _of_side(side)] for name, side in sides], ())


def _of_side(side: Side) -> str:
    facts = (side.started, counted(side.cases, "case"), "averages only" if side.averages else "")
    return ", ".join(fact for fact in facts if fact)


def _differences(comparison: Comparison) -> str:
    rows, more = difference_rows(comparison)
    if not rows:
        return "The environments do not differ, as far as the files tell."
    cells = [[name, *(one_line(value, VALUE_WIDTH) for value in values)] for name, *values in rows]
    table = _table(cells, ("Environment", "Base", "New"))
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
    """The table of one metric's rows, with the figures themselves where there is room for them."""
    unit = unit_of(rows)
    columns: dict[str, Callable[[Row], str]] = {
        "Operator": lambda row: shortened(row.operator, OPERATOR_WIDTH),
        "Ratio": lambda row: ratio_text(row.ratio),
        "95 % interval": interval_text,
        "Verdict": lambda row: row.verdict.value,
        f"Base {unit}": lambda row: figure_text(row.base, row.unit),
        f"New {unit}": lambda row: figure_text(row.new, row.unit),
        "Inputs": lambda row: one_line(row.inputs, INPUTS_WIDTH),
    }
    if not any(row.low is not None for row in rows):
        del columns["95 % interval"]
    table = _columns(rows, columns)
    if width is not None and table.partition("\n")[0].index("Inputs") > width - INPUTS_LEAST:
        del columns[f"Base {unit}"], columns[f"New {unit}"]
        return _columns(rows, columns)
    return table


def _columns(rows: Sequence[Row], columns: Mapping[str, Callable[[Row], str]]) -> str:
    cells = [[cell(row) for cell in columns.values()] for row in rows]
    align = ["left" if title in TEXTS else "right" for title in columns]
    return _table(cells, list(columns), align)


def _means(comparison: Comparison) -> str:
    rows = mean_rows(comparison)
    if not rows:
        return ""
    headers = ("Geometric mean (cases)", *comparison.metrics)
    return _table(rows, headers, ["left", *("right" for _ in comparison.metrics)])


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
    rows: Sequence[Sequence[str]], headers: Sequence[str], align: Sequence[str] | None = None
) -> str:
    table: str = tabulate(
        rows,
        headers=headers,
        tablefmt="simple" if headers else "plain",
        disable_numparse=True,
        colalign=align if rows else None,
    )
    return table
