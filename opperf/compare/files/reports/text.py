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
    mark_sentences,
    mean_rows,
    new_figure,
    operators_text,
    ratio_text,
    reasons,
    select_rows,
    shown_inputs,
    summary_text,
    unit_of,
)
from opperf.compare.results import TITLE, UNCOMPARED, WHERE, different_rows, not_compared
from opperf.compare.statistics.weights import Weighted
from opperf.compare.weighted import FILES, sentences, table
from opperf.model import DIFFERENT
from opperf.results.messages import wrap_message
from opperf.results.table import inputs_texts
from opperf.results.terminal import GAP, Column, table_text
from opperf.results.text import fit_paths, pluralize, wrap
from opperf.results.units import align, format_figure

WIDTH = 100
"""Width of sentences without a terminal; tables are then not limited."""

SIDE_WIDTH = len("base  ")
"""Characters of a side's name before its path."""


def text_report(comparison: Comparison, width: int | None = None) -> str:
    """The report, no wider than `width` columns except for the command at its end."""
    columns = width or WIDTH
    sections = [
        _sides(comparison, width),
        _differences(comparison, width),
        _results(comparison, width),
        *(_metric(comparison, metric, width) for metric in comparison.metrics),
        _means(comparison, width),
        _weighted(comparison.weighted, width),
        *(_changes(comparison, kind, columns) for kind in CHANGES),
        _uncompared(comparison, width),
        "\n".join(wrap(sentence, columns) for sentence in closing_sentences(comparison)),
    ]
    text = "\n\n".join(section for section in sections if section)
    if width is not None:
        text = wrap_message(text, width)
    lines = [line.rstrip() for line in text.splitlines()]
    for why, command in comparison.commands:
        # Never cut, as it is for copying.
        lines += ["", f"{why}:", f"  {command}"]
    return "\n".join(lines) + "\n"


def _sides(comparison: Comparison, width: int | None) -> str:
    sides = (comparison.base, comparison.new)
    facts = list(map(_of_side, sides))
    taken = SIDE_WIDTH + GAP + max(map(len, facts))
    paths = fit_paths([side.path for side in sides], taken, width)
    longest = max(map(len, paths))
    return "\n".join(
        f"{name:<{SIDE_WIDTH}}{path:<{longest + GAP}}{fact}"
        for name, path, fact in zip(("base", "new"), paths, facts, strict=True)
    )


def _of_side(side: Side) -> str:
    facts = (side.started, pluralize(side.cases, "case"), "averages only" if side.averages else "")
    return ", ".join(fact for fact in facts if fact)


def _differences(comparison: Comparison, width: int | None) -> str:
    rows, more = difference_rows(comparison)
    if not rows:
        return "No difference between the environments in the files."
    titles = ("Environment", "Base", "New")
    cells = ([" ".join(value.split()) for value in column] for column in zip(*rows, strict=True))
    columns = [
        Column(title, column, wraps=place > 0)
        for place, (title, column) in enumerate(zip(titles, cells, strict=True))
    ]
    table = table_text(columns, width)
    return f"{table}\n{more}" if more else table


def _results(comparison: Comparison, width: int | None) -> str:
    """The cases of which both sides do not compute the same."""
    rows, more = different_rows(comparison.results)
    if not rows:
        return ""
    titles = ("Operator", "Inputs", WHERE)
    columns = [
        Column(title, cells, wraps=title != "Operator")
        for title, cells in zip(titles, zip(*rows, strict=True), strict=True)
    ]
    left = f"\n\nand {more} more; json has all" if more else ""
    return f"{TITLE}\n\n{table_text(columns, width)}{left}"


def _uncompared(comparison: Comparison, width: int | None) -> str:
    """The cases whose results are not compared, or in part only."""
    found = not_compared(comparison.results)
    if not found:
        return ""
    columns = [
        Column("Case", list(found), wraps=True),
        Column("Reason", list(found.values()), wraps=True),
    ]
    return f"{UNCOMPARED}\n\n{table_text(columns, width)}"


def _metric(comparison: Comparison, metric: str, width: int | None) -> str:
    """One metric: its verdicts in a sentence, its table, and why rows are ambiguous."""
    rows = comparison.rows_of(metric)
    shown, more = select_rows(rows)
    sentence = f"{metric}: {summary_text(comparison, metric)}"
    lines = [
        wrap(sentence, width or WIDTH),
        "",
        _rows(shown, rows, width),
        *([more] if more else []),
        *reasons(rows),
        *(wrap(sentence, width or WIDTH) for sentence in mark_sentences(shown)),
    ]
    return "\n".join(lines)


def _rows(rows: Sequence[Row], metric: Sequence[Row], width: int | None) -> str:
    """The table of some of one metric's rows; without the figures themselves in a narrow
    terminal."""
    unit = unit_of(rows)
    settings = [row.settings for row in rows]
    points = [row.point for row in rows]
    differences = [row.difference if row.results == DIFFERENT else "" for row in rows]
    columns = [
        Column("Operator", [row.operator for row in rows]),
        Column("Ratio", [ratio_text(row.ratio) for row in rows], is_text=False),
        *([_intervals(rows)] if any(row.low is not None for row in rows) else []),
        Column("Verdict", [row.verdict.value for row in rows]),
        *(
            Column(
                f"{title} {unit.name}",
                align([format_figure(read(row), unit) for row in rows]),
                is_text=False,
                is_extra=True,
            )
            for title, read in (("Base", base_figure), ("New", new_figure))
        ),
        *([Column(TITLE, differences, wraps=True)] if any(differences) else []),
        *([Column("Settings", settings, wraps=True)] if any(settings) else []),
        *([Column("Sweep", points, wraps=True)] if any(points) else []),
    ]
    inputs = inputs_texts(map(shown_inputs, rows), map(shown_inputs, metric), columns, width)
    return table_text([*columns, inputs], width)


def _intervals(rows: Sequence[Row]) -> Column:
    return Column("95 % interval", [interval_text(row) for row in rows], is_text=False)


def _means(comparison: Comparison, width: int | None) -> str:
    rows = mean_rows(comparison)
    if not rows:
        return ""
    return _table(("Geometric mean (cases)", *comparison.metrics), rows, width, texts=1)


def _weighted(found: Weighted | None, width: int | None) -> str:
    """The totals weighted by count, and the operators that made the difference."""
    if found is None:
        return ""
    made = table(found, FILES)
    lines = [wrap(sentence, width or WIDTH) for sentence in sentences(found, FILES)]
    lines += ["", _table(made.titles, made.rows, width, texts=1), *filter(None, [made.more])]
    return "\n".join(lines)


def _changes(comparison: Comparison, kind: ChangeKind, width: int) -> str:
    """The cases of one kind of change, with their reasons if there are some."""
    changes = comparison.changes_of(kind)
    if not changes:
        return ""
    title = f"{CHANGES[kind]}: {pluralize(len(changes), 'case')}"
    if not any(change.reason for change in changes):
        return wrap(f"{title}: {operators_text(changes)}", width)
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
