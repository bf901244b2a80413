"""A run as a Markdown page: tables of results, then the environment and the build features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tabulate import tabulate

from opperf.machine.environment import environment_texts
from opperf.model import DECLARED, MetricKind, Record, Run, Status
from opperf.results.axis_table import AxisTable, axis_tables, text_columns
from opperf.results.columns import PERCENTILES, select_columns
from opperf.results.figures import sort_by_operator
from opperf.results.outliers import (
    COLUMNS,
    EXPLANATION,
    SHOWN_OUTLIERS,
    TEXT_COLUMNS,
    commands_for,
    is_fuzzed,
    outliers,
)
from opperf.results.ranking import explain_unranked
from opperf.results.result_keys import OWN_TITLES, has_own_keys
from opperf.results.settings import differing_settings, settings_text
from opperf.results.sweep_table import is_swept, sweep_tables
from opperf.results.table import LEGEND, legend
from opperf.results.text import duration, inputs_text
from opperf.results.units import choose_unit, format_figure, unit_words

GIB = 2**30

Column = tuple[str, Callable[[Record], str]]

OPERATOR: tuple[Column, ...] = (
    ("Operator", lambda record: record.case.label),
    ("Inputs", lambda record: inputs_text(record.case)),
)

UNMEASURED: tuple[Column, ...] = (
    ("Status", lambda record: record.status.value),
    ("Reason", lambda record: record.reason),
)

FEATURES = "Runtime Features"
"""Title of the build features, as MXNet's utility has it."""


def markdown_text(run: Run, names: Sequence[str] = ()) -> str:
    """Returns the page: results first, with the columns of these names, by default the usual ones,
    and the environment folded at its end."""
    records = sort_by_operator(run.records)
    measured = [record for record in records if record.status is Status.OK]
    others = [record for record in records if record.status is not Status.OK]
    operator = OPERATOR + _settings_columns(records)
    sections = ["# Operator benchmarks", "## Results", _results(measured, operator, names)]
    if is_swept(records):
        sections += ["## By size", _size_section(records)]
    for table in axis_tables([record for record in records if not record.case.point], names):
        sections += [f"## {table.title}", _axis_section(table)]
    if is_fuzzed(run):
        sections += ["## Outliers", _outlier_section(run)]
    if others:
        titles, cells = zip(*operator, *UNMEASURED, strict=True)
        rows = [[cell(record) for cell in cells] for record in others]
        sections += ["## Not measured", grid(titles, rows, len(titles))]
    if run.header.excluded:
        excluded = sorted(run.header.excluded.items())
        sections += ["## No benchmark", grid(("Operator", "Reason"), excluded, 2)]
    sections += [
        fold("Environment", _bullets(environment_facts(run))),
        fold(FEATURES, features_text(run.environment.features)),
    ]
    return "\n\n".join(sections) + "\n"


def _results(records: Sequence[Record], texts: Sequence[Column], names: Sequence[str]) -> str:
    """Returns the table of the measured records, and what explains its figures."""
    if not records:
        return "Nothing was measured."
    columns = select_columns(records, names)
    if not names and any(record.time_kind is MetricKind.WALL for record in records):
        columns += PERCENTILES
    titles = [title for title, _ in texts]
    rows = [[cell(record) for _, cell in texts] for record in records]
    for column in columns:
        figures = [column.read(record) for record in records]
        unit = choose_unit(column.metric.unit, figures)
        title = column.metric.title
        titles.append(" ".join([title, *(f"({word})" for word in unit_words(title, unit))]))
        for row, figure in zip(rows, figures, strict=True):
            row.append(str(format_figure(figure, unit)))
    table = grid(titles, rows, len(texts))
    return "\n\n".join([table, " ".join(legend(records, columns))])


def _settings_columns(records: Sequence[Record]) -> tuple[Column, ...]:
    """The settings in which the records differ, if they do."""
    names = differing_settings(record.case for record in records)
    return (("Settings", lambda record: settings_text(record.case, names)),) if names else ()


def _size_section(records: Sequence[Record]) -> str:
    """The tables by size of a sweep, with medians and the half-widths of their intervals."""
    parts = [LEGEND]
    for table in sweep_tables(records):
        columns = (*table.sizes, *table.columns)
        rows = zip(*(column.cells for column in columns), strict=True)
        parts += [f"{table.title}:", grid([column.title for column in columns], rows, 0)]
    return "\n\n".join(parts)


def _axis_section(table: AxisTable) -> str:
    """The table of one figure by the values of a setting."""
    operator, *settings = text_columns(table)
    inputs = [inputs_text(row.first.case) for row in table.rows]
    texts = [operator.cells, inputs, *(column.cells for column in settings)]
    titles = [operator.title, "Inputs", *(column.title for column in (*settings, *table.columns))]
    rows = zip(*texts, *(column.cells for column in table.columns), strict=True)
    return grid(titles, rows, len(texts))


def _outlier_section(run: Run) -> str:
    """A table of the outliers, and the commands for the first."""
    found = outliers(run.records)[:SHOWN_OUTLIERS]
    unranked = explain_unranked(run.records)
    notes = (f"{unranked}.",) if unranked else ()
    if not found:
        return " ".join(("No operator has enough shapes to fit a line.", *notes))
    rows = [[cell(outlier) for _, cell in COLUMNS] for outlier in found]
    table = grid([title for title, _ in COLUMNS], rows, TEXT_COLUMNS)
    commands = [f"    {command}" for command in commands_for(run, found[0].record).values()]
    explanation = " ".join((EXPLANATION, *notes))
    return "\n".join((explanation, "", table, "", "Measure the first again:", "", *commands))


def environment_facts(run: Run) -> list[tuple[str, str]]:
    """The run's environment, settings and options, as label and text."""
    header = run.header
    facts = [
        *environment_texts(run.environment),
        *_settings_facts(run.records),
        *((name.capitalize().replace("_", " "), value) for name, value in flatten(header.options)),
        *((f"Label {key}", text) for key, text in header.labels.items()),
        ("Date", header.started),
    ]
    if run.closing is not None:
        facts.append(("Time taken", duration(run.closing.elapsed_s)))
    return [(label, text) for label, text in facts if text]


def _settings_facts(records: Sequence[Record]) -> list[tuple[str, str]]:
    """The settings of the cases, with every value in use."""
    facts = []
    titles = OWN_TITLES if all(map(has_own_keys, records)) else {}
    for name, setting in DECLARED.items():
        values = [getattr(record.case.settings, name) for record in records]
        # A setting of which no case has a value is not shown.
        texts = dict.fromkeys(map(setting.text, values)) if any(map(_has_value, values)) else {}
        facts.append((titles.get(name, setting.title), ", ".join(filter(None, texts))))
    return facts


def _has_value(value: object) -> bool:
    return value not in (None, "", {})


def flatten(options: dict[str, Any]) -> list[tuple[str, str]]:
    """Flattens options, without empty ones and without the groups of settings and axes, which the
    records have."""
    found: list[tuple[str, str]] = []
    for name, value in options.items():
        if isinstance(value, dict):
            if name not in ("settings", "axes"):
                found += flatten(value)
        elif value not in (None, "", [], ()):
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            found.append((name, text))
    return found


def features_text(features: dict[str, bool]) -> str:
    """The build features as a list."""
    if not features:
        return "The framework does not report any."
    return _bullets([(name, "on" if on else "off") for name, on in sorted(features.items())])


def _bullets(facts: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- {_escape(label)}: {_escape(text)}" for label, text in facts)


def fold(title: str, body: str) -> str:
    """Folds a part of a page, which a click opens where the page supports that."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def grid(titles: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 4) -> str:
    """A Markdown table; columns after the first `text_columns` hold numbers, aligned to the
    right."""
    table: str = tabulate(
        [[_escape(cell) for cell in row] for row in rows],
        headers=[" ".join(title.split()) for title in titles],
        tablefmt="pipe",
        disable_numparse=True,
        colalign=["left" if i < text_columns else "right" for i in range(len(titles))],
    )
    return table


def _escape(text: str) -> str:
    """Escapes text for a cell: newlines, bars and backslashes."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())
