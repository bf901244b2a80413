"""A comparison as Markdown, for a page or a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from opperf.compare.files.comparison import MISSING, ChangeKind, Comparison, Row
from opperf.compare.files.reports.cells import (
    CHANGES,
    SHOWN_NAMES,
    change_text,
    closing_sentences,
    difference_rows,
    figure_texts,
    interval_text,
    mark_sentences,
    mean_rows,
    operators_text,
    ratio_text,
    reasons,
    select_rows,
    shown_inputs,
    summary_text,
    unit_of,
)
from opperf.compare.results import (
    TITLE,
    UNCOMPARED,
    WHERE,
    count_different,
    different_rows,
    not_compared,
)
from opperf.compare.statistics.data import Verdict
from opperf.compare.statistics.weights import Weighted
from opperf.compare.weighted import FILES, sentences, table
from opperf.errors import one_line
from opperf.model import DIFFERENT
from opperf.results.markdown import fold, grid
from opperf.results.text import pluralize, short_inputs

INPUTS_WIDTH = 120
"""Characters of a case's inputs where fewer distinguish an operator's cases: a comment on GitHub
has at most 65536 in all."""

LONGEST_INPUTS = 400
"""Most characters of a case's inputs: the rows of a metric are then well within that limit."""

BOLD = (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.SUSPECT)
"""Verdicts in bold."""


def markdown_report(comparison: Comparison) -> str:
    """The report: findings first, and long parts folded."""
    base, new = (code(side.path) for side in (comparison.base, comparison.new))
    sections = [
        f"## Operators: {new} against {base}",
        _answer(comparison),
        "\n".join(f"- {m}: {summary_text(comparison, m)}" for m in comparison.metrics),
        _results(comparison),
        *(_metric(comparison, metric) for metric in comparison.metrics),
        _weighted(comparison.weighted),
        _means(comparison),
        *(_changes(comparison, kind) for kind in CHANGES),
        _uncompared(comparison),
        _differences(comparison),
        " ".join(plain(sentence) for sentence in closing_sentences(comparison)),
        *(f"{why}:\n\n```sh\n{command}\n```" for why, command in comparison.commands),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _answer(comparison: Comparison) -> str:
    """What a reader has to know first, and what to do."""
    rows = comparison.rows
    worse = [row for row in rows if row.verdict is Verdict.REGRESSED]
    suspect = [row for row in rows if row.verdict is Verdict.SUSPECT and row.is_worse]
    gone = [change for change in comparison.changes if change.kind in MISSING]
    found = []
    if differing := count_different(comparison.results):
        found.append(
            f"**Different results in {pluralize(differing, 'case')}.** See which is right "
            "first: a wrong result is not better."
        )
    if worse:
        found.append(
            f"**{_figures(worse)} got worse.** Find the cause, or say why it is acceptable."
        )
    if suspect:
        tool = "the command at the end" if comparison.confirm else "`opperf ab`"
        found.append(
            f"**{_figures(suspect)} may have got worse.** Two separate runs cannot tell that from "
            f"chance; {tool} can."
        )
    if gone:
        found.append(f"**{pluralize(len(gone), 'case')} no longer measured**, listed below.")
    return " ".join(found) or "**Nothing got worse**, as far as these files can tell."


def _figures(rows: Sequence[Row]) -> str:
    """The number of rows of each metric: `2 figures (forward)`."""
    metrics = ", ".join(dict.fromkeys(row.metric for row in rows))
    return f"{pluralize(len(rows), 'figure')} ({metrics})"


def code(text: str) -> str:
    """Text as code; it may contain anything but two backticks in a row."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{' '.join(text.split())}{fence}"


def plain(text: str) -> str:
    """Text with its markup escaped."""
    return re.sub(r"([\\`*_\[\]<>&~#|])", r"\\\1", " ".join(text.split()))


def in_cell(text: str) -> str:
    """Text for a table's cell, with tags, entities and emphasis escaped, but not the underscores in
    names; `grid` escapes backslashes and bars."""
    return re.sub(r"[&<*`]|(?<!\w)_|_(?!\w)", lambda found: f"&#{ord(found[0])};", text)


def _differences(comparison: Comparison) -> str:
    rows, more = difference_rows(comparison)
    if not rows:
        return "No difference between the environments in the files."
    cells = [[code(field), in_cell(base), in_cell(new)] for field, base, new in rows]
    table = grid(("Environment", "Base", "New"), cells)
    body = f"{table}\n\n{more}" if more else table
    return fold("The environments of the two files differ", body)


def _results(comparison: Comparison) -> str:
    """The cases of which both sides do not compute the same."""
    rows, more = different_rows(comparison.results)
    if not rows:
        return ""
    cells = [(code(operator), in_cell(inputs), in_cell(where)) for operator, inputs, where in rows]
    left = f"\n\nand {more} more; json has all" if more else ""
    return f"### {TITLE}\n\n{grid(('Operator', 'Inputs', WHERE), cells)}{left}"


def _uncompared(comparison: Comparison) -> str:
    """The cases whose results are not compared, or in part only, folded."""
    found = [
        (in_cell(case), in_cell(why)) for case, why in not_compared(comparison.results).items()
    ]
    return fold(UNCOMPARED, grid(("Case", "Reason"), found)) if found else ""


def _metric(comparison: Comparison, metric: str) -> str:
    """One metric's table, folded if it has no finding."""
    rows = comparison.rows_of(metric)
    shown, more = select_rows(rows)
    notes = [*([more] if more else []), *map(plain, (*reasons(rows), *mark_sentences(shown)))]
    body = "\n\n".join([_rows(shown, rows), *notes])
    if any(row.verdict in BOLD for row in shown):
        return f"### {metric}\n\n{body}"
    return fold(f"{metric}: no finding", body)


def _rows(rows: Sequence[Row], metric: Sequence[Row]) -> str:
    """The table of some of one metric's rows."""
    unit = unit_of(rows)
    short = short_inputs(map(shown_inputs, metric), INPUTS_WIDTH)
    columns: dict[str, Callable[[Row], str]] = {
        "Operator": lambda row: code(row.operator),
        "Inputs": lambda row: in_cell(one_line(short[shown_inputs(row)], LONGEST_INPUTS)),
        "Sweep": lambda row: in_cell(row.point),
        "Settings": lambda row: in_cell(row.settings),
        "Verdict": _verdict,
        TITLE: lambda row: in_cell(row.difference) if row.results == DIFFERENT else "",
        "Ratio": lambda row: ratio_text(row.ratio),
        "95 % interval": interval_text,
        f"Base ({unit.name})": lambda row: figure_texts(row, unit)[0],
        f"New ({unit.name})": lambda row: figure_texts(row, unit)[1],
    }
    if not any(row.results == DIFFERENT for row in rows):
        del columns[TITLE]
    if not any(row.low is not None for row in rows):
        del columns["95 % interval"]
    if not any(row.point for row in rows):
        del columns["Sweep"]
    if not any(row.settings for row in rows):
        del columns["Settings"]
    cells = [[cell(row) for cell in columns.values()] for row in rows]
    return grid(list(columns), cells, text_columns=list(columns).index("Ratio"))


def _verdict(row: Row) -> str:
    verdict = row.verdict.value
    return f"**{verdict}**" if row.verdict in BOLD else verdict


def _means(comparison: Comparison) -> str:
    rows = mean_rows(comparison)
    if not rows:
        return ""
    table = grid(("Category", *comparison.metrics), rows, 1)
    return fold("Geometric means of the ratios, by category, with the number of cases", table)


def _weighted(found: Weighted | None) -> str:
    """The totals weighted by count, and the operators that made the difference."""
    if found is None:
        return ""
    made = table(found, FILES)
    said = " ".join(map(plain, sentences(found, FILES)))
    rows = [[code(name), *figures] for name, *figures in made.rows]
    parts = [f"### {made.title}", said, grid(made.titles, rows, 1), made.more]
    return "\n\n".join(filter(None, parts))


def _changes(comparison: Comparison, kind: ChangeKind) -> str:
    found = comparison.changes_of(kind)
    if not found:
        return ""
    title = f"{CHANGES[kind]}: {pluralize(len(found), 'case')}"
    if not any(change.reason for change in found):
        return fold(title, plain(operators_text(found)))
    lines = [f"- {plain(change_text(change))}" for change in found[:SHOWN_NAMES]]
    more = len(found) - SHOWN_NAMES
    return fold(title, "\n".join([*lines, *([f"- and {more} more"] if more > 0 else [])]))
