"""A comparison of two files as a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opperf.comparison.compared import (
    MISSING,
    Change,
    ChangeKind,
    ComparedRow,
    Comparison,
    Side,
    interval_text,
    ratio_text,
)
from opperf.comparison.files.reports import sentences
from opperf.comparison.files.reports.changes import changes_of
from opperf.comparison.files.reports.values import COLUMNS, rows, tests, values
from opperf.comparison.results import (
    TITLE,
    count_different,
    differing,
    loaded_section,
    uncompared,
    verdict_text,
)
from opperf.comparison.statistics.data import Verdict
from opperf.comparison.weighted import FILES, weighted_section
from opperf.model import DIFFERENT
from opperf.plurals import pluralize
from opperf.reports.markdown import code
from opperf.reports.model import (
    Cell,
    Column,
    Fact,
    Report,
    Section,
    Table,
    figures,
    inputs,
    names,
    numbers,
    texts,
    words,
)

FOUND = frozenset({Verdict.REGRESSED, Verdict.DIFFERENT, Verdict.IMPROVED, Verdict.SUSPECT})
"""Verdicts of findings."""

MEANS = "Geometric means of the ratios, by category, with the number of cases"


def sections(comparison: Comparison) -> tuple[Section, ...]:
    """Returns the sections, without those that have nothing."""
    sides = (("base", comparison.base), ("new", comparison.new))
    found = (
        Section(
            facts=[Fact(name, side.name, _of_side(side)) for name, side in sides], in_changes=True
        ),
        _comparability(comparison),
        _differences(comparison),
        loaded_section({"Base": comparison.base.loaded, "New": comparison.new.loaded}),
        differing(comparison.results),
        *(_metric(comparison, metric) for metric in comparison.metrics),
        _means(comparison),
        *([weighted_section(comparison.weighted, FILES)] if comparison.weighted else []),
        *_changes(comparison),
        uncompared(comparison.results),
        Section(prose=sentences.closing_sentences(comparison), commands=comparison.commands),
    )
    return tuple(section for section in found if section.has_content)


def answer(comparison: Comparison) -> str:
    """Returns what a reader has to know first, and what to do."""
    rows = comparison.rows
    worse = [row for row in rows if row.verdict is Verdict.REGRESSED]
    suspect = [row for row in rows if row.verdict is Verdict.SUSPECT and row.is_worse]
    gone = [change for change in comparison.changes if change.kind in MISSING]
    found = []
    if number := count_different(comparison.results):
        found.append(
            f"**Different results in {pluralize(number, 'case')}.** See which is right "
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


def _figures(rows: Sequence[ComparedRow]) -> str:
    """Returns the number of rows of each metric: `2 figures (forward)`."""
    metrics = ", ".join(dict.fromkeys(row.metric for row in rows))
    return f"{pluralize(len(rows), 'figure')} ({metrics})"


def _of_side(side: Side) -> str:
    facts = (side.started, pluralize(side.cases, "case"), "averages only" if side.averages else "")
    return ", ".join(fact for fact in facts if fact)


def _differences(comparison: Comparison) -> Section:
    rows, shown, more = sentences.difference_rows(comparison)
    if not rows:
        return Section(prose=["No difference between the environments in the files."])
    fields, base, new = zip(*rows, strict=True)
    columns = (names("Environment", fields), texts("Base", base), texts("New", new))
    title = "The environments of the two files differ"
    return Section(title, table=Table(columns, shown, more), is_folded=True)


def _comparability(comparison: Comparison) -> Section:
    facts = ", ".join(comparison.incomparable)
    return Section(
        prose=[f"Not comparable by {facts}: changes may be due to that alone."] if facts else []
    )


def _metric(comparison: Comparison, metric: str) -> Section:
    rows = comparison.rows_of(metric)
    shown, more = sentences.select_rows(rows)
    picked = [rows[index] for index in shown]
    return Section(
        f"{metric}: {sentences.summary_text(comparison, metric)}",
        table=Table(tuple(_columns(rows)), shown, more),
        below=[*sentences.reasons(rows), *sentences.mark_sentences(picked)],
        is_folded=not any(row.verdict in FOUND for row in picked),
        in_changes=True,
        tip=rows[0].described.description,
    )


def _columns(rows: Sequence[ComparedRow]) -> Iterator[Column]:
    unit = sentences.unit_of(rows)
    cases = [(row.operator, row.inputs) for row in rows]
    yield names("Operator", [row.operator for row in rows])
    yield inputs(cases, cases)
    if any(row.point for row in rows):
        yield texts("Sweep", [row.point for row in rows])
    if any(row.settings for row in rows):
        yield texts("Settings", [row.settings for row in rows])
    yield numbers("Ratio", [ratio_text(row.ratio) for row in rows])
    if any(row.low is not None for row in rows):
        yield numbers("95 % interval", [interval_text(row.low, row.high) for row in rows])
    yield words("Verdict", [])._replace(cells=[_verdict(row) for row in rows])
    yield figures("Base", [row.figures[0] for row in rows], unit, extra=1)
    yield figures("New", [row.figures[1] for row in rows], unit, extra=1)
    if any(row.results == DIFFERENT for row in rows):
        found = [row.difference if row.results == DIFFERENT else "" for row in rows]
        yield texts(TITLE, found)


def _verdict(row: ComparedRow) -> Cell:
    return Cell(verdict_text(row.verdict, row.results), row.tone, sentences.remarks(row))


def _means(comparison: Comparison) -> Section:
    rows = sentences.mean_rows(comparison)
    if not rows:
        return Section()
    categories, *means = zip(*rows, strict=True)
    columns = [
        numbers(title, cells) for title, cells in zip(comparison.metrics, means, strict=True)
    ]
    return Section(MEANS, table=Table((words("Category", categories), *columns)), is_folded=True)


def _changes(comparison: Comparison) -> Iterator[Section]:
    for kind in sentences.CHANGES:
        changes = comparison.changes_of(kind)
        if changes:
            yield _change_section(kind, changes)


def _change_section(kind: ChangeKind, changes: Sequence[Change]) -> Section:
    has_reasons = any(change.reason for change in changes)
    return Section(
        f"{sentences.CHANGES[kind]}: {pluralize(len(changes), 'case')}",
        items=[sentences.change_text(change) for change in changes],
        brief="" if has_reasons else sentences.operators_text(changes),
        is_folded=kind not in MISSING,
    )


def report_of(comparison: Comparison) -> Report:
    """Returns the report of a comparison, for every format."""
    return Report(
        command="compare",
        title="",
        sections=sections(comparison),
        data=values(comparison),
        header=list(COLUMNS),
        rows=rows(comparison),
        tests=tests(comparison),
        headline=f"Operators: {code(comparison.new.name)} against {code(comparison.base.name)}",
        answer=(answer(comparison),),
        comment="compare",
        changes=changes_of(comparison),
    )
