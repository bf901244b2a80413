"""A run as a page: tables of results, then the environment and the build features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opperf.machine.environment import environment_texts
from opperf.model import DECLARED, MetricKind, Record, Run, Status
from opperf.reports.markdown import write_markdown
from opperf.reports.model import (
    Report,
    Section,
    Table,
    numbers,
    texts,
    words,
)
from opperf.reports.run_tables import (
    LEGEND,
    axis_tables,
    case_columns,
    is_swept,
    legend,
    results_table,
    sweep_tables,
)
from opperf.results.columns import PERCENTILES, select_columns
from opperf.results.figures import sort_by_operator
from opperf.results.outliers import (
    AGAIN,
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
from opperf.results.settings import differing_settings
from opperf.results.text import duration

FEATURES = "Runtime Features"
"""Title of the build features, as MXNet's utility has it."""

GIB = 2**30


def markdown_text(run: Run, names: Sequence[str] = ()) -> str:
    """Returns the run as a Markdown page, with the columns of these names, by default the usual
    ones."""
    return write_markdown(report_of(run, names))


def report_of(run: Run, columns: Sequence[str] = ()) -> Report:
    """Returns the page: results first, with the columns of these names, by default the usual ones,
    and the environment folded at its end."""
    return Report("run", "Operator benchmarks", tuple(_sections(run, columns)), None, level=1)


def _sections(run: Run, names: Sequence[str]) -> Iterator[Section]:
    records = sort_by_operator(run.records)
    settings = differing_settings(record.case for record in records)
    measured = [record for record in records if record.status is Status.OK]
    others = [record for record in records if record.status is not Status.OK]
    yield _results(measured, settings, names)
    if is_swept(records):
        yield Section("By size", prose=[LEGEND])
        for title, table in sweep_tables(records):
            yield Section(prose=[f"{title}:"], table=table)
    single = [record for record in records if not record.case.point]
    for title, table in axis_tables(single, names):
        yield Section(title, table=_whole(table))
    if is_fuzzed(run):
        yield _outliers(run)
    if others:
        columns = (
            *case_columns(others, others, settings),
            words("Status", [record.status.value for record in others]),
            texts("Reason", [record.reason for record in others]),
        )
        yield Section("Not measured", table=_whole(Table(columns)))
    if run.header.excluded:
        operators, reasons = zip(*sorted(run.header.excluded.items()), strict=True)
        yield Section(
            "No benchmark", table=Table((words("Operator", operators), texts("Reason", reasons)))
        )
    facts = [f"{label}: {text}" for label, text in environment_facts(run)]
    yield Section("Environment", prose=facts, is_folded=True)
    yield features_section(run.environment.features)


def _whole(table: Table) -> Table:
    """Returns a table with inputs that are not shortened."""
    return table._replace(columns=tuple(column._replace(cases=None) for column in table.columns))


def _results(records: Sequence[Record], settings: Sequence[str], names: Sequence[str]) -> Section:
    """Returns the table of the measured records, and what explains its figures."""
    if not records:
        return Section("Results", prose=["Nothing was measured."])
    columns = select_columns(records, names)
    if not names and any(record.time_kind is MetricKind.WALL for record in records):
        columns += PERCENTILES
    table = _whole(results_table(records, columns, settings))
    return Section("Results", table=table, below=[" ".join(legend(records, columns))])


def _outliers(run: Run) -> Section:
    """Returns the outliers, and the commands for the first."""
    found = outliers(run.records)[:SHOWN_OUTLIERS]
    unranked = explain_unranked(run.records)
    notes = [f"{unranked}."] if unranked else []
    if not found:
        return Section("Outliers", prose=["No operator has enough shapes to fit a line.", *notes])
    columns = [
        (texts if index < TEXT_COLUMNS else numbers)(title, list(map(read, found)))
        for index, (title, read) in enumerate(COLUMNS)
    ]
    commands = commands_for(run, found[0].record)
    return Section(
        "Outliers",
        prose=[EXPLANATION, *notes],
        table=Table(tuple(columns)),
        commands=[(AGAIN[name], command) for name, command in commands.items()],
    )


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


def features_section(features: dict[str, bool]) -> Section:
    """Returns the build features, folded."""
    listed = [f"{name}: {'on' if on else 'off'}" for name, on in sorted(features.items())]
    none = ["The framework does not report any."]
    return Section(FEATURES, prose=listed or none, is_folded=True)
