"""A run, or results by operator, as a page: tables, environment and build features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opperf.decoding import JsonObject
from opperf.instruments.memory import MEMORY
from opperf.instruments.times import BACKWARD, FORWARD, TOTAL
from opperf.machine.environment import environment_texts
from opperf.model import DECLARED, MetricKind, Record, Run, Status
from opperf.reports import replays, run_tables
from opperf.reports.fields import NUMBER, TEXT, WORD, Field, table_of
from opperf.reports.markdown import write_markdown
from opperf.reports.model import Report, Section, Table
from opperf.results import outliers
from opperf.results.columns import PERCENTILES, select_columns
from opperf.results.figures import explain_unranked
from opperf.results.opperf_json import OWN_TITLES, Source, has_own_keys, source_of
from opperf.results.settings import differing_settings
from opperf.results.text import duration
from opperf.results.units import NOT_APPLICABLE, mark_legend, sort_by_operator

FEATURES = "Runtime Features"
"""Title of the build features, as MXNet's utility has it."""


def markdown_text(run: Run, names: Sequence[str] = ()) -> str:
    """Returns the run as a Markdown page, with these columns or the usual ones."""
    return write_markdown(report_of(run, names))


def report_of(run: Run, columns: Sequence[str] = ()) -> Report:
    """Returns the results, with these columns or the usual ones, then the environment."""
    return Report("run", "Operator benchmarks", tuple(_sections(run, columns)), None, level=1)


def _sections(run: Run, names: Sequence[str]) -> Iterator[Section]:
    records = sort_by_operator(run.records)
    settings = differing_settings(record.case for record in records)
    measured = [record for record in records if record.status is Status.OK]
    yield _results(measured, settings, names)
    if run_tables.is_swept(records):
        yield Section("By size", prose=[run_tables.LEGEND])
        for title, table in run_tables.sweep_tables(records):
            yield Section(prose=[f"{title}:"], table=table)
    single = [record for record in records if not record.case.point]
    for title, table in run_tables.axis_tables(single, names):
        yield Section(title, table=_whole(table))
    yield from beside_the_results(run)


UNMEASURED: tuple[Field[Record], ...] = (
    Field("", "Status", WORD, lambda record: record.status.value),
    Field("", "Reason", TEXT, lambda record: record.reason),
)

EXCLUDED: tuple[Field[tuple[str, str]], ...] = (
    Field("", "Operator", WORD, lambda excluded: excluded[0]),
    Field("", "Reason", TEXT, lambda excluded: excluded[1]),
)


def beside_the_results(run: Run) -> Iterator[Section]:
    """Yields what a page has besides the results: outliers, what replays consist of, what was not
    measured and why, and the environment."""
    records = sort_by_operator(run.records)
    others = [record for record in records if record.status is not Status.OK]
    settings = differing_settings(record.case for record in records)
    if outliers.is_fuzzed(run):
        section = outlier_section(run)
        yield section._replace(table=section.table and _whole(section.table))
    for record in records:
        yield from replays.sections_of(record)
    if others:
        fields = (*run_tables.case_fields(others, others, settings), *UNMEASURED)
        yield Section("Not measured", table=_whole(table_of(fields, others)))
    if run.header.excluded:
        yield Section("No benchmark", table=table_of(EXCLUDED, sorted(run.header.excluded.items())))
    facts = [f"{label}: {text}" for label, text in environment_facts(run)]
    yield Section("Environment", prose=facts, is_folded=True)
    if run.environment is not None:
        yield _features_section(run.environment.features)


def _whole(table: Table) -> Table:
    """Returns a table with inputs that are not shortened."""
    return table._replace(columns=tuple(column._replace(cases=None) for column in table.columns))


def _results(records: Sequence[Record], settings: Sequence[str], names: Sequence[str]) -> Section:
    if not records:
        return Section("Results", prose=["Nothing was measured."])
    columns = select_columns(records, names)
    if not names and any(record.time_kind is MetricKind.WALL for record in records):
        columns += PERCENTILES
    table = _whole(run_tables.results_table(records, columns, settings))
    return Section("Results", table=table, below=[" ".join(run_tables.legend(records, columns))])


def outlier_section(run: Run) -> Section:
    """Returns the shapes that take longer than their size explains, of a run of random shapes."""
    found = outliers.outliers(run.records)[: outliers.SHOWN_OUTLIERS]
    unranked = explain_unranked(run.records)
    notes = [f"{unranked}."] if unranked else []
    if not found:
        return Section("Outliers", prose=["No operator has enough shapes to fit a line.", *notes])
    commands = outliers.commands_for(run, found[0].record)
    return Section(
        "Outliers",
        prose=[outliers.EXPLANATION, *notes],
        table=run_tables.outlier_table(found, run.records),
        below=mark_legend(entry.time.shown for entry in found),
        commands=[(outliers.AGAIN[name], command) for name, command in commands.items()],
    )


def environment_facts(run: Run) -> list[tuple[str, str]]:
    """The run's environment, settings and options, as label and text."""
    header = run.header
    facts = [
        # What was recorded and not measured has none.
        *(environment_texts(run.environment) if run.environment is not None else ()),
        *_settings_facts(run.records),
        *((name.capitalize().replace("_", " "), value) for name, value in flatten(header.options)),
        *((f"Label {key}", text) for key, text in header.labels.items()),
        ("Date", header.started),
    ]
    if run.closing is not None:
        facts.append(("Time taken", duration(run.closing.elapsed_s)))
    return [(label, text) for label, text in facts if text]


def _settings_facts(records: Sequence[Record]) -> list[tuple[str, str]]:
    facts = []
    titles = OWN_TITLES if all(map(has_own_keys, records)) else {}
    for name, setting in DECLARED.items():
        values = [getattr(record.case.settings, name) for record in records]
        # A setting of which no case has a value is not shown.
        has_value = any(value not in (None, "", {}) for value in values)
        texts = dict.fromkeys(map(setting.text, values)) if has_value else {}
        facts.append((titles.get(name, setting.title), ", ".join(filter(None, texts))))
    return facts


def flatten(options: JsonObject) -> list[tuple[str, str]]:
    """Returns options without empty ones, and without settings and axes, which records have."""
    found: list[tuple[str, str]] = []
    for name, value in options.items():
        if isinstance(value, dict):
            if name not in ("settings", "axes"):
                found += flatten(value)
        elif value not in (None, "", [], ()):
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            found.append((name, text))
    return found


def _features_section(features: dict[str, bool]) -> Section:
    listed = [f"{name}: {'on' if on else 'off'}" for name, on in sorted(features.items())]
    none = ["The framework does not report any."]
    return Section(FEATURES, prose=listed or none, is_folded=True)


MEDIANS = (
    ("Forward (ms)", Source(FORWARD, "median")),
    ("Backward (ms)", Source(BACKWARD, "median")),
)
MEANS = (
    ("Mean forward (ms)", Source(FORWARD, "mean")),
    ("Mean backward (ms)", Source(BACKWARD, "mean")),
)
"""Titles of columns, each with what its figure is of."""

PERCENTILES_OF_RESULTS = (
    ("P50 (ms)", Source(TOTAL, "median")),
    ("P90 (ms)", Source(TOTAL, "p90")),
    ("P99 (ms)", Source(TOTAL, "p99")),
)
"""The same of both passes together."""


class _Result(NamedTuple):
    """A result of an operator, as files of MXNet's utility have it, and its figures."""

    name: str
    result: JsonObject
    figures: dict[Source, str]


def _reader(source: Source) -> Callable[[_Result], str]:
    return lambda row: row.figures.get(source, NOT_APPLICABLE)


def results_text(
    results: Mapping[str, Sequence[Mapping[str, Any]]],
    features: Mapping[str, bool],
    kind: MetricKind,
) -> str:
    """Returns a page of results by operator, of medians or else means, and the features."""
    listed = [
        _Result(name, result, _figures(name, result))
        for name, own in sorted(results.items())
        for result in own
    ]
    have_medians = any(source in row.figures for row in listed for _, source in MEDIANS)
    columns = (
        *(MEDIANS if have_medians else MEANS),
        ("Memory (kB)", Source(MEMORY, "median")),
        *(PERCENTILES_OF_RESULTS if kind is MetricKind.WALL else ()),
    )
    fields: list[Field[_Result]] = [
        Field("", "Operator", WORD, lambda row: row.name),
        Field("", "Inputs", TEXT, lambda row: _inputs(row.result)),
        *(Field("", title, NUMBER, _reader(source)) for title, source in columns),
    ]
    table = table_of(fields, listed)
    sections = (Section("Results", table=table), _features_section(dict(features)))
    page = Report("run", "Operator benchmarks", sections, None, level=1)
    return write_markdown(page).rstrip("\n")


def _inputs(result: JsonObject) -> str:
    inputs = str(result.get("inputs", NOT_APPLICABLE))
    details = ", ".join(f"{name}: {text}" for name, text in result.get("details", {}).items())
    return f"{inputs}; {details}" if details else inputs


def _figures(name: str, result: JsonObject) -> dict[Source, str]:
    """Returns the figures by what they are of; of several devices' memory, the first."""
    found: dict[Source, str] = {}
    for key, value in result.items():
        source = source_of(key, name)
        if source is not None:
            found.setdefault(source, str(value))
    return found
