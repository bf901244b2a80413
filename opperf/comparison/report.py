"""The report of a comparison, of every command that compares: a page of its rows, and values, rows
and tests for programs, beside its sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from opperf.comparison.compared import (
    Change,
    ComparedRow,
    Comparison,
    SessionFacts,
    interval_text,
    ratio_text,
)
from opperf.comparison.page import page_of
from opperf.comparison.results import TITLE
from opperf.comparison.sections import Telling, columns_of, missing_text, sections_of
from opperf.model import DIFFERENT
from opperf.reports.fields import objects_of, rows_of
from opperf.reports.model import Report, Section, Test
from opperf.results.units import choose_unit, format_figure
from opperf.statistics.data import Verdict


def report_of(found: Comparison, told: Telling) -> Report:
    """Returns the report of a comparison, for every format."""
    header, rows = _rows([found])
    return Report(
        command=found.command,
        title=told.title,
        sections=sections_of(found, told),
        data=values_of(found),
        header=header,
        rows=rows,
        tests=list(ci_tests(found)),
        headline=told.headline,
        answer=told.answer,
        comment=found.command,
        changes=page_of(found, told, _with_missing(found)) if told.has_page else None,
    )


def report_of_several(listed: Sequence[tuple[Comparison, Telling]]) -> Report:
    """Returns the report of comparisons of several sides with the first, each after the other."""
    titles = [" against ".join(reversed(found.labels)) for found, _ in listed]
    header, rows = _rows([found for found, _ in listed])
    named = list(zip(titles, listed, strict=True))
    return Report(
        command=listed[0][0].command,
        title=": ".join(filter(None, (listed[0][1].title, ", ".join(titles)))),
        sections=[
            section._replace(title=_among(title, section, place == 0))
            for title, (found, told) in named
            for place, section in enumerate(sections_of(found, told))
        ],
        data=[values_of(found) for found, _ in listed],
        header=header,
        rows=rows,
        tests=[
            test._replace(name=f"{title}: {test.name}")
            for title, (found, _) in named
            for test in ci_tests(found)
        ],
        headline="; ".join(f"{title}: {told.headline}" for title, (_, told) in named),
        answer=[f"{title}: {' '.join(told.answer)}" for title, (_, told) in named],
        comment=listed[0][0].command,
    )


def _among(title: str, section: Section, is_first: bool) -> str:
    """Returns the title of a section of one of several comparisons."""
    if not section.title:
        return title if is_first else ""
    return f"{title}: {section.title}"


def _rows(listed: Sequence[Comparison]) -> tuple[list[str], list[list[Any]]]:
    """Returns the header of CSV and its rows, each with the sides, of what is missing too."""
    header, _ = rows_of(columns_of(listed[0]), [])
    made = []
    for found in listed:
        _, rows = rows_of(columns_of(found), _with_missing(found))
        made += [[*found.labels, *values] for values in rows]
    return ["a", "b", *header], made


def _with_missing(found: Comparison) -> list[ComparedRow]:
    """Returns the rows, with those of what is missing."""
    gone = (change for change in found.changes if change.kind in found.missing)
    return [*found.rows, *(_missing_row(found, change) for change in gone)]


def _missing_row(found: Comparison, change: Change) -> ComparedRow:
    return ComparedRow(
        id=change.id,
        operator=change.operator,
        inputs=change.inputs,
        metric=change.metric,
        verdict=Verdict.MISSING,
        category=change.category,
        settings=change.settings,
        changed_settings=change.changed_settings,
        note=missing_text(found, change),
    )


def values_of(found: Comparison) -> dict[str, Any]:
    """Returns a comparison as values of JSON, always with every key."""
    session = found.session
    return {
        "command": found.command,
        "labels": found.labels,
        "sides": list(map(msgspec.structs.asdict, found.sides)),
        "threshold": found.threshold,
        "same_within": found.same_within,
        "detectable": found.detectable,
        "limits_file": found.limits_file,
        "fail_on": found.fail_on,
        "counts": {verdict.value: number for verdict, number in found.counts.items()},
        "environment": [
            {"field": name, "base": before, "new": after}
            for name, before, after in found.differences
        ],
        "comparable": found.comparable,
        "incomparable": found.incomparable,
        "rows": objects_of(columns_of(found), found.rows),
        "groups": list(map(msgspec.structs.asdict, found.groups)),
        "total": found.total and msgspec.structs.asdict(found.total),
        "changes": [
            msgspec.structs.asdict(change)
            | {"verdict": Verdict.MISSING.value if change.kind in found.missing else None}
            for change in found.changes
        ],
        "reasons": found.reasons,
        "results": found.results,
        "weighted": found.weighted,
        "unmeasured": found.unmeasured,
        "notes": found.notes,
        "confirm": found.confirm,
        "explain": found.explain,
        "session": session and _session_values(found, session),
    }


def _session_values(found: Comparison, session: SessionFacts) -> dict[str, Any]:
    coarse = session.coarse
    rows = coarse and {
        "blocks": coarse.blocks,
        "threshold": coarse.threshold,
        "rows": objects_of(columns_of(found), coarse.rows),
    }
    return msgspec.structs.asdict(session) | {"coarse": rows}


def ci_tests(found: Comparison) -> Iterator[Test]:
    """Yields a test for each row and change, of which findings of `--fail-on` are failures, and
    cases that were not compared are skipped; of an invalid session one error, and what fails all
    the same."""
    made = [
        *(_row_test(found, row) for row in found.rows),
        *(_change_test(found, change) for change in found.changes),
    ]
    session = found.session
    if session is not None and not session.valid:
        yield Test(f"opperf {found.command}", "session", "", "error", session.reason, "invalid")
        yield from (test for test in made if test.result == "failure")
        return
    yield from made
    for title, reasons in found.reasons.items():
        for case, reason in reasons.items():
            yield Test(case, title, case, "skipped", reason)


OPEN = frozenset({Verdict.AMBIGUOUS, Verdict.INSTRUCTIONS_SAME})
"""Verdicts whose tests are skipped, unless they are a finding."""


def _name(one: ComparedRow | Change) -> str:
    """Returns the name of a test, with the settings that are not at their defaults, but not those
    in which it differs from other rows, of which the next report may have others."""
    details = "; ".join(filter(None, (one.inputs, one.changed_settings)))
    case = f"{one.operator} ({details})" if details else one.operator
    return " ".join(filter(None, (case, one.metric)))


def _row_test(found: Comparison, row: ComparedRow) -> Test:
    failed = row.findings(found.fail_on)
    return Test(
        operator=row.operator,
        name=_name(row),
        id=row.id,
        result="failure" if failed else "skipped" if row.verdict in OPEN else "system-out",
        message=_row_text(row),
        kind=failed[0] if failed else "",
    )


def _row_text(row: ComparedRow) -> str:
    figures = [figure for figure in row.figures if figure is not None]
    unit = choose_unit(row.unit, figures)
    texts = " to ".join(str(format_figure(figure, unit)) for figure in figures)
    interval = interval_text(row.low, row.high)
    parts = (
        f"{row.words}: {texts} {unit.name}" if figures else row.words,
        f"ratio {ratio_text(row.ratio)}" if row.ratio is not None else "",
        f"interval {interval}" if interval else "",
        row.basis,
        row.remarks,
        f"{TITLE}: {row.difference}" if row.results == DIFFERENT else "",
    )
    return ", ".join(filter(None, parts))


def _change_test(found: Comparison, change: Change) -> Test:
    is_found = change.kind in found.missing and Verdict.MISSING.value in found.fail_on
    return Test(
        operator=change.operator,
        name=_name(change),
        id=change.id,
        result="failure" if is_found else "skipped",
        message=missing_text(found, change),
        kind=Verdict.MISSING.value if is_found else "",
    )
