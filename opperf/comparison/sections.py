"""The sections of the report of a comparison. What only its judge can say of it comes as a
`Telling`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opperf.comparison import results
from opperf.comparison.compared import (
    ALL,
    Change,
    ChangeKind,
    ComparedRow,
    Comparison,
    GroupRatio,
    Side,
    interval_text,
    ratio_text,
    size,
)
from opperf.comparison.results import more_text, reasons_section
from opperf.comparison.weighted import weighted_section
from opperf.machine.environment import gpus_text
from opperf.model import DECLARED, DIFFERENT
from opperf.plurals import pluralize
from opperf.reports import fields
from opperf.reports.fields import COUNT, NAME, NUMBER, TEXT, WORD, Field
from opperf.reports.model import Cell, Fact, Section
from opperf.reports.pages.content import finite
from opperf.results.units import Figure, Unit, choose_unit, mark_legend
from opperf.shares import detectable_text
from opperf.statistics.data import Verdict

RATIO = "Ratio"


class RowGroup(NamedTuple):
    """Rows that are a table together."""

    title: str
    rows: Sequence[ComparedRow]
    without: Collection[str] = ()
    """Titles of columns that the table has not, as its title says the same."""
    shown: tuple[int, ...] | None = None
    """Those of the rows that there is room for; None for all."""
    more: str = ""
    """A line on the others."""
    below: Sequence[str] = ()
    is_folded: bool = False
    page_title: str = ""
    tip: str = ""


class Telling(NamedTuple):
    """The words of its judge on a comparison."""

    headline: str
    answer: Sequence[str]
    groups: Sequence[RowGroup] = ()
    title: str = ""
    case: str = "Operator"
    """Title of the column of what is compared."""
    ratio: str = RATIO
    """Title of the column of ratios."""
    how: Section = Section()
    """How it was measured."""
    facts: Mapping[str, str] = {}
    """Further facts, beside the sides."""
    closing: Sequence[str] = ()
    commands: Sequence[tuple[str, str]] = ()
    samples: str = "samples"
    """Name of the samples of rows."""
    verdicts: Mapping[Verdict, str] = {}
    """Verdicts that tables have by another name."""
    has_page: bool = True
    """Whether a page draws its rows."""


def cut(rows: Sequence[ComparedRow], most: int) -> tuple[tuple[int, ...] | None, str]:
    """Returns the indices of the first rows, None for all, and a line on the others."""
    left = len(rows) - most
    return (tuple(range(most)) if left > 0 else None), more_text(left)


PLAIN = Telling("", ())
"""Of columns for programs."""


def _naming_columns(
    found: Comparison, told: Telling, rows: Sequence[ComparedRow]
) -> list[Field[ComparedRow]]:
    """Returns the columns that say what a row is of."""
    cases = [(row.operator, row.inputs) for row in (*found.rows, *rows)]
    # Rows of a session have those settings too in which no cases differ.
    vary = len({row.settings for row in found.rows}) > 1
    usual = "default" if vary else ""
    is_shown = vary or found.session is None
    return [
        Field("id", None, NAME, lambda row: row.id),
        Field("operator", told.case, NAME, lambda row: row.operator),
        Field(
            "inputs",
            "Inputs",
            TEXT,
            lambda row: (row.operator, row.inputs),
            among=cases,
            is_optional=True,
        ),
        Field("point", "Sweep", TEXT, lambda row: row.point, is_optional=True),
        Field(
            "settings",
            "Settings",
            TEXT,
            lambda row: row.settings,
            lambda row: (row.settings or usual) * is_shown,
            is_optional=True,
        ),
        Field("category", None, WORD, lambda row: row.category),
        Field("metric", "Metric", WORD, lambda row: row.metric, page_title="Pass"),
    ]


def columns_of(
    found: Comparison, told: Telling = PLAIN, rows: Sequence[ComparedRow] = ()
) -> list[Field[ComparedRow]]:
    """Returns the columns of rows: in tables, and in CSV, JSON and data frames, where a missing
    value is null, or an empty cell."""
    first, second = (label.capitalize() for label in found.labels)
    units = {row.unit for row in rows}
    unit = Unit("", 1.0)
    if len(units) == 1:
        unit = choose_unit(rows[0].unit, (figure for row in rows for figure in row.figures))
    side = fields.figure(unit)
    return [
        *_naming_columns(found, told, rows),
        Field(
            "ratio",
            told.ratio,
            NUMBER,
            lambda row: finite(row.ratio),
            lambda row: ratio_text(row.ratio),
            is_optional=True,
            page_title="" if told.ratio == RATIO else f"Time, {told.ratio}",
        ),
        Field("low", None, NUMBER, lambda row: finite(row.low)),
        Field("high", None, NUMBER, lambda row: finite(row.high)),
        Field(
            "",
            found.interval,
            NUMBER,
            lambda row: interval_text(row.low, row.high),
            is_optional=True,
            page_title="Likely between" if found.session else "",
        ),
        Field(
            "verdict",
            "Verdict",
            WORD,
            lambda row: row.verdict.value,
            lambda row: Cell(told.verdicts.get(row.verdict, row.words), row.tone, row.remarks),
        ),
        Field("p", None, NUMBER, lambda row: finite(row.p)),
        Field("base", first, side, lambda row: finite(row.base), _base, extra=1, is_optional=True),
        Field("new", second, side, lambda row: finite(row.new), _new, extra=1, is_optional=True),
        Field("base_half_width", None, NUMBER, lambda row: row.base_half_width),
        Field("new_half_width", None, NUMBER, lambda row: row.new_half_width),
        Field("unit", "Unit" if len(units) > 1 else None, WORD, lambda row: row.unit),
        *CLOSING,
    ]


def _base(row: ComparedRow) -> Figure | None:
    return row.figures[0]


def _new(row: ComparedRow) -> Figure | None:
    return row.figures[1]


CLOSING: tuple[Field[ComparedRow], ...] = (
    Field(
        "detectable",
        "Detectable",
        NUMBER,
        lambda row: row.detectable,
        lambda row: "" if row.detectable is None else detectable_text(row.detectable),
        is_optional=True,
        page_title="Visible from",
    ),
    Field("blocks", "Blocks", COUNT, lambda row: row.blocks, extra=1, is_optional=True),
    Field("allowed", None, NUMBER, lambda row: finite(row.allowed)),
    Field("basis", "Rests on", TEXT, lambda row: row.basis, is_optional=True),
    Field("note", "Note", TEXT, lambda row: row.note, is_optional=True),
    Field("caveat", None, TEXT, lambda row: row.caveat),
    Field("results", None, WORD, lambda row: row.results),
    Field(
        "difference",
        results.TITLE,
        TEXT,
        lambda row: row.difference,
        lambda row: row.difference if row.results == DIFFERENT else "",
        is_optional=True,
    ),
)
"""The last columns of rows."""


def sections_of(found: Comparison, told: Telling) -> tuple[Section, ...]:
    """Returns the sections, without those that have nothing."""
    sides = found.sides[:2] if len(found.sides) == 2 else ()
    loaded = {
        label.capitalize(): side.loaded for label, side in zip(found.labels, sides, strict=False)
    }
    made = (
        Section(facts=list(_facts(found, told)), in_changes=True),
        told.how,
        Section(prose=[NOT_COMPARABLE.format(", ".join(found.incomparable))])
        if found.incomparable
        else Section(),
        _differences(found),
        *([results.loaded_section(loaded)] if any(loaded.values()) else []),
        results.differing(found.results),
        *(_rows_section(found, told, group) for group in told.groups),
        *_ratios(found),
        *([weighted_section(found.weighted, found.labels)] if found.weighted else []),
        *_coarse(found, told),
        *_changes(found),
        *(reasons_section(title, reasons) for title, reasons in found.reasons.items()),
        results.uncompared(found.results),
        Section(prose=[*found.notes, *told.closing], commands=told.commands),
    )
    return tuple(section for section in made if section.has_content)


def _facts(found: Comparison, told: Telling) -> Iterator[Fact]:
    if len(found.sides) == 2:
        for label, side, when in zip(found.labels, found.sides, ("before", "after"), strict=True):
            page_label = f"{label}, {when}" if found.session else ""
            yield Fact(label, side.name, _about(side), page_label)
    for label, text in told.facts.items():
        yield Fact(label, text)


def _about(side: Side) -> str:
    cases = pluralize(side.cases, "case") if side.cases else ""
    facts = (side.started, cases, "averages only" if side.averages else "")
    return ", ".join(filter(None, facts)) or side.machine


NOT_COMPARABLE = "Not comparable by {}: changes may be due to that alone."

SHOWN_DIFFERENCES = 25
"""Most differences between the environments: two builds may differ in every feature."""


def _differences(found: Comparison) -> Section:
    rows = [
        (name, _fact_text(name, before), _fact_text(name, after))
        for name, before, after in found.differences
    ]
    titles = ("Environment", *(label.capitalize() for label in found.labels))
    table = fields.texts_table(titles, rows, most=SHOWN_DIFFERENCES)
    return Section("The environments differ", table=table, is_folded=True)


def _fact_text(field: str, value: Any) -> str:
    """Returns a fact or a setting: of GPUs, their models with drivers."""
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(gpu, Mapping) for gpu in value):
            drivers = dict.fromkeys(gpu.get("driver", "") for gpu in value)
            return f"{gpus_text(value)}, driver {', '.join(drivers)}"
        return ", ".join(_fact_text(field, element) for element in value) or "none"
    group, _, name = field.partition(".")
    text = DECLARED[name].text(value) if group == "settings" else value
    return "not set" if text in (None, "") else str(text)


def _rows_section(found: Comparison, told: Telling, group: RowGroup) -> Section:
    every = columns_of(found, told, group.rows)
    columns = [column for column in every if column.title not in group.without]
    table = fields.table_of(columns, group.rows, shown=group.shown, more=group.more)
    picked = group.rows if group.shown is None else [group.rows[place] for place in group.shown]
    return Section(
        group.title,
        table=table,
        below=[*group.below, *mark_legend(figure for row in picked for figure in row.figures)],
        is_folded=group.is_folded,
        in_changes=told.has_page,
        page_title=group.page_title,
        tip=group.tip,
    )


def _ratios(found: Comparison) -> Iterator[Section]:
    """Yields the geometric means by each key, with the columns of each metric."""
    for key in dict.fromkeys(group.key for group in found.groups):
        groups = {(made.category, made.metric): made for made in found.groups if made.key == key}
        categories = sorted(
            dict.fromkeys(category for category, _ in groups), key=lambda name: (name == ALL, name)
        )
        columns: list[Field[str]] = [Field("", key.capitalize(), WORD, str)]
        known = {metric for _, metric in groups}
        for metric in [metric for metric in found.metrics if metric in known]:
            columns += _mean_fields(groups, metric, found.interval)
        title = f"Geometric means of the ratios, by {key}, with the number of cases"
        yield Section(title, table=fields.table_of(columns, categories), is_folded=True)


def _mean_fields(
    groups: Mapping[tuple[str, str], GroupRatio], metric: str, interval: str
) -> tuple[Field[str], Field[str]]:
    def interval_of(category: str) -> str:
        found = groups.get((category, metric))
        return interval_text(found.low, found.high) if found else ""

    return (
        Field("", metric, NUMBER, lambda category: _mean_text(groups.get((category, metric)))),
        Field("", interval, NUMBER, interval_of, is_optional=True),
    )


def _mean_text(group: GroupRatio | None) -> str:
    return "" if group is None else f"{ratio_text(group.ratio)} ({group.cases})"


def _coarse(found: Comparison, told: Telling) -> Iterator[Section]:
    coarse = found.session.coarse if found.session else None
    if coarse is None:
        return
    changed = sorted(coarse.changed, key=size)
    shown, more = cut(changed, results.MOST)
    title = f"Changed by more than {coarse.threshold:.0%} with all threads"
    without = ("Settings", "Detectable", "Blocks")
    group = RowGroup(title, changed, without, shown, more)
    yield _rows_section(found, told, group)._replace(in_changes=False)


def titles_of(labels: tuple[str, str]) -> dict[ChangeKind, str]:
    """Returns the titles of changes, in the order of the reports."""
    base, new = labels
    return {
        ChangeKind.BROKEN: f"Measured in {base}, not in {new}",
        ChangeKind.DISAPPEARED: f"In {base} only",
        ChangeKind.REFUSED: "Not comparable",
        ChangeKind.FIXED: f"Measured in {new}, not in {base}",
        ChangeKind.APPEARED: f"In {new} only",
        ChangeKind.NEITHER: "Measured in neither",
    }


SHOWN_NAMES = 20
"""Most cases that are named of those that only one side has."""


def _changes(found: Comparison) -> Iterator[Section]:
    for kind, title in titles_of(found.labels).items():
        changes = found.changes_of(kind)
        has_reasons = any(change.reason for change in changes)
        if changes:
            yield Section(
                f"{title}: {pluralize(len(changes), 'case')}",
                items=[change_text(change) for change in changes],
                brief="" if has_reasons else operators_text(changes),
                is_folded=kind not in found.missing,
            )


def change_text(change: Change) -> str:
    """Returns a case that only one side has, on one line."""
    details = "; ".join(filter(None, (change.inputs, change.settings)))
    case = f"{change.operator} ({details})" if details else change.operator
    metric = f" {change.metric}" if change.metric else ""
    return f"{case}{metric}{f': {change.reason}' if change.reason else ''}"


def missing_text(found: Comparison, change: Change) -> str:
    """Returns why a case has no ratio, as a sentence: `measured in A, not in B: crashed`."""
    title = titles_of(found.labels)[change.kind]
    title = f"{title[:1].lower()}{title[1:]}"
    return f"{title}: {change.reason}" if change.reason else title


def operators_text(changes: Sequence[Change]) -> str:
    """Returns the operators of cases, each with the number of cases."""
    counts = Counter(change.operator for change in changes)
    texts = [name if n == 1 else f"{name} ({n})" for name, n in counts.items()]
    more = len(texts) - SHOWN_NAMES
    return ", ".join(texts[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")
