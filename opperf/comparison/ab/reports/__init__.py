"""The verdicts of a session as a report: its sections, and tests of continuous integration."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from opperf.comparison.ab.report import CoarseReport, CoarseRow, Row
from opperf.comparison.ab.report import Report as SessionReport
from opperf.comparison.ab.reports import sentences
from opperf.comparison.ab.reports.changes import (
    INTERVAL,
    NOTHING,
    Measured,
    changes_of,
    nodes_text,
)
from opperf.comparison.compared import interval_text, ratio_text
from opperf.comparison.results import (
    TITLE,
    differing,
    loaded_section,
    more_text,
    reasons_section,
    uncompared,
    verdict_text,
)
from opperf.comparison.statistics.data import Verdict
from opperf.comparison.weighted import ARMS, table
from opperf.comparison.weighted import TITLE as WEIGHTED
from opperf.model import DIFFERENT, Struct
from opperf.reports.model import (
    Column,
    Fact,
    Report,
    Section,
    Table,
    Test,
    inputs,
    names,
    numbers,
    table_of,
    texts,
    words,
)
from opperf.shares import detectable_text

MAX_ROWS = 100
"""Most rows of a table; JSON has all."""

MAX_SAME = 20
"""Most rows of a table of figures that are not `URGENT`: those are the longest."""

RATIO = "B/A"

SHOWN = {
    Verdict.REGRESSED: "Slower",
    Verdict.DIFFERENT: "Not the same results",
    Verdict.MISSING: "Measured in A, not in B",
    Verdict.IMPROVED: "Faster",
    Verdict.AMBIGUOUS: "Not clear",
    Verdict.SAME: "No change",
    Verdict.INSTRUCTIONS_SAME: "Not timed: the same instructions",
}
"""Verdicts that have a table, in this order, each with its title on a page."""

WITHOUT_TIMES = frozenset({Verdict.DIFFERENT, Verdict.MISSING})
"""Verdicts that an invalid session has too, as no noise hides what they say."""

FOUND = WITHOUT_TIMES | {Verdict.REGRESSED, Verdict.IMPROVED}
"""Verdicts whose tables are not folded."""

CHECKED = frozenset({Verdict.MISSING, Verdict.SAME})
"""Those of a comparison of results alone: other tables have what differs or is not compared."""

URGENT = FOUND | {Verdict.AMBIGUOUS}

LISTS: dict[str, Callable[[SessionReport], dict[str, str]]] = {
    "Not measured in both A and B": lambda report: report.absent,
    "Not measured in some process": lambda report: report.lost,
}
"""Cases without a comparison, each with the reason, by the titles of their tables."""


def sections(report: SessionReport) -> tuple[Section, ...]:
    """Returns the sections, without those that have nothing."""
    found = (
        Section(
            facts=[
                Fact("A:", report.a, page_label="A, before"),
                Fact("B:", report.b, page_label="B, after"),
                *(
                    [Fact("Measured by:", nodes_text(report), page_label="Measured by")]
                    if report.nodes
                    else []
                ),
            ],
            in_changes=True,
        ),
        Section(
            prose=sentences.summary(report),
            is_folded=True,
            page_title=sentences.HOW_TITLES[report.kind],
            manual=sentences.HOW if report.kind == "times" else "",
        ),
        differing(report.results),
        *_verdicts(report),
        *([Section(WEIGHTED, table=table(report.weighted, ARMS))] if report.weighted else []),
        *([_coarse_section(report.coarse)] if report.coarse else []),
        Section(
            "The arms' environments differ",
            table=table_of(
                ("Field", "A", "B"),
                [
                    (difference.field, difference.a, difference.b)
                    for difference in report.differences
                ],
            ),
        ),
        *([loaded_section(report.loaded)] if report.loaded else []),
        *(reasons_section(title, read(report)) for title, read in LISTS.items()),
        uncompared(report.results),
    )
    return tuple(section for section in found if section.has_content)


def _verdicts(report: SessionReport) -> Iterator[Section]:
    cases = [(row.operator, row.inputs) for row in report.rows]
    vary = len({row.settings for row in report.rows}) > 1
    for verdict, page_title in SHOWN.items():
        if not report.valid and verdict not in WITHOUT_TIMES:
            continue
        if report.kind == "checks" and verdict not in CHECKED:
            continue
        found = [row for row in report.rows if row.verdict is verdict]
        found.sort(key=_size)
        most = MAX_ROWS if verdict in URGENT else MAX_SAME
        usual = _setting_columns if report.kind == "checks" else _columns
        made = tuple(COLUMNS.get(verdict, usual)(found[:most], cases, vary))
        is_folded = verdict not in FOUND
        yield Section(
            verdict.value.capitalize(),
            table=Table(made, more=more_text(len(found) - most)),
            is_folded=is_folded,
            page_title=f"{page_title} ({len(found)})" if is_folded else page_title,
            in_changes=True,
        )


def _size(row: Row | CoarseRow) -> float:
    return -abs(math.log(row.ratio or 1.0))


def _columns(rows: Sequence[Row], cases: Sequence[tuple[str, str]], vary: bool) -> Iterator[Column]:
    yield from _setting_columns(rows, cases, vary)
    yield from _ratio_columns(rows)
    detectable = ["" if row.detectable is None else detectable_text(row.detectable) for row in rows]
    yield numbers("Detectable", detectable, page="Visible from")
    yield numbers("Blocks", [str(row.blocks) for row in rows], extra=1)
    yield from _basis_column(rows)
    if any(row.note for row in rows):
        yield texts("Note", [row.note for row in rows])
    if any(row.results == DIFFERENT for row in rows):
        yield texts(TITLE, [row.difference if row.results == DIFFERENT else "" for row in rows])


def _untimed_columns(
    rows: Sequence[Row], cases: Sequence[tuple[str, str]], vary: bool
) -> Iterator[Column]:
    yield from _setting_columns(rows, cases, vary)
    yield words("Metric", [row.metric for row in rows])._replace(page_title="Pass")
    yield from _basis_column(rows)


def _missing_columns(
    rows: Sequence[Row], cases: Sequence[tuple[str, str]], vary: bool
) -> Iterator[Column]:
    yield from _setting_columns(rows, cases, vary)
    yield words("Metric", [row.metric for row in rows])._replace(page_title="Pass")
    yield texts("Reason", [row.note for row in rows])


COLUMNS = {
    Verdict.INSTRUCTIONS_SAME: _untimed_columns,
    Verdict.MISSING: _missing_columns,
}
"""Columns of the verdicts without a time."""


def _basis_column(rows: Sequence[Row]) -> Iterator[Column]:
    if any(row.basis for row in rows):
        yield texts("Rests on", [row.basis for row in rows])


def _setting_columns(
    rows: Sequence[Row], cases: Sequence[tuple[str, str]], vary: bool
) -> Iterator[Column]:
    yield from _case_columns(rows, cases)
    if vary:
        yield texts("Settings", [row.settings or "default" for row in rows])


def _case_columns(
    rows: Sequence[Row] | Sequence[CoarseRow], cases: Sequence[tuple[str, str]]
) -> Iterator[Column]:
    yield names("Operator", [row.operator for row in rows])
    yield inputs([(row.operator, row.inputs) for row in rows], cases)


def _ratio_columns(rows: Sequence[Row] | Sequence[CoarseRow]) -> Iterator[Column]:
    yield words("Metric", [row.metric for row in rows])._replace(page_title="Pass")
    yield numbers(RATIO, [ratio_text(row.ratio) for row in rows], page=f"Time, {RATIO}")
    yield numbers(
        INTERVAL, [interval_text(row.low, row.high) for row in rows], page="Likely between"
    )


def _coarse_section(coarse: CoarseReport) -> Section:
    found = sorted(sentences.changed_rows(coarse), key=_size)
    shown = found[:MAX_ROWS]
    columns = (
        *_case_columns(shown, [(row.operator, row.inputs) for row in coarse.rows]),
        *_ratio_columns(shown),
        words("Change", [row.changed or "" for row in shown]),
    )
    title = f"Changed by more than {coarse.threshold:.0%} with all threads"
    return Section(title, table=Table(columns, more=more_text(len(found) - MAX_ROWS)))


SESSION = "opperf ab"
"""Name of the test that an invalid session fails."""


def tests(report: SessionReport) -> Iterator[Test]:
    """Yields a test for each figure; of an invalid session one error, and the figures that fail
    all the same. Verdicts of `--fail-on` are failures; other ambiguous figures, and cases that were
    not compared, are skipped."""
    found = [_row_test(report, row) for row in report.rows]
    if not report.valid:
        yield Test(SESSION, "session", "", "error", report.reason, kind="invalid")
        yield from (test for test in found if test.result == "failure")
        return
    yield from found
    for title, read in LISTS.items():
        for case, reason in read(report).items():
            yield Test(case, title, case, "skipped", reason)


def _row_test(report: SessionReport, row: Row) -> Test:
    different = row.results == DIFFERENT
    found = dict.fromkeys([row.verdict.value, *([DIFFERENT] if different else [])])
    failed = [word for word in found if word in report.fail_on]
    is_open = row.verdict in (Verdict.AMBIGUOUS, Verdict.INSTRUCTIONS_SAME)
    parts = [
        verdict_text(row.verdict, row.results),
        *([f"B/A {ratio_text(row.ratio)}"] if row.ratio is not None else []),
        *([f"interval {interval_text(row.low, row.high)}"] if row.low is not None else []),
        *([row.basis] if row.basis else []),
        *([row.note] if row.note else []),
        *([f"{TITLE}: {row.difference}"] if different else []),
    ]
    return Test(
        operator=row.operator,
        name=f"{'; '.join(filter(None, (row.inputs, row.settings)))} {row.metric}",
        id=row.id,
        result="failure" if failed else "skipped" if is_open else "system-out",
        message=", ".join(parts),
        kind=failed[0] if failed else "",
    )


def report_for(
    found: Mapping[tuple[str, str], SessionReport], measured: Measured = NOTHING
) -> Report:
    """Returns the report of a session, for every format, from those of its comparisons; pages have
    what was measured."""
    if len(found) > 1:
        return several(found)
    (report,) = found.values()
    return Report(
        command="ab",
        title=f"{report.framework}: A against B",
        sections=sections(report),
        data=report,
        header=Row.__struct_fields__,
        rows=[list(msgspec.to_builtins(row).values()) for row in report.rows],
        tests=list(tests(report)),
        headline=sentences.headline(report),
        answer=sentences.advice(report),
        comment="ab",
        changes=None if report.kind == "checks" else changes_of(report, measured),
    )


class Compared(Struct, frozen=True, omit_defaults=False):
    """A comparison of two of several arms, in JSON."""

    base: str
    new: str
    report: SessionReport


def several(found: Mapping[tuple[str, str], SessionReport]) -> Report:
    """Returns the report of comparisons of several arms: what they have in common, and a table of
    each."""
    shown = {name: text for names, report in found.items() for name, text in _arms(names, report)}
    first = next(iter(found.values()))
    titles = {names: f"{names[1]} against {names[0]}" for names in found}
    return Report(
        command="ab",
        title=f"{first.framework}: {', '.join(titles.values())}",
        sections=tuple(
            section
            for section in (
                Section(facts=[Fact(f"{name}:", text) for name, text in shown.items()]),
                *(
                    section
                    for names, report in found.items()
                    for section in _compared(titles[names], names, report)
                ),
            )
            if section.has_content
        ),
        data=[Compared(*names, report) for names, report in found.items()],
        header=("base", "new", *Row.__struct_fields__),
        rows=[
            [*names, *msgspec.to_builtins(row).values()]
            for names, report in found.items()
            for row in report.rows
        ],
        tests=[
            test._replace(name=f"{titles[names]}: {test.name}")
            for names, report in found.items()
            for test in tests(report)
        ],
        headline="; ".join(
            f"{titles[names]}: {sentences.headline(report)}" for names, report in found.items()
        ),
        answer=[
            f"{titles[names]}: {' '.join(sentences.counted(report))}"
            for names, report in found.items()
        ],
        comment="ab",
    )


def _arms(names: tuple[str, str], report: SessionReport) -> Iterator[tuple[str, str]]:
    for name, text in zip(names, (report.a, report.b), strict=True):
        yield name, text.removeprefix(f"{name} (").removesuffix(")") if name in text else text


def _compared(title: str, names: tuple[str, str], report: SessionReport) -> Iterator[Section]:
    ratio = "/".join(reversed(names))
    cases = [(row.operator, row.inputs) for row in report.rows]
    vary = len({row.settings for row in report.rows}) > 1
    shown = list(SHOWN)
    rows = [row for row in report.rows if report.valid or row.verdict in WITHOUT_TIMES]
    rows.sort(key=lambda row: (shown.index(row.verdict), _size(row)))
    first = rows[:MAX_ROWS]
    verdicts = words("Verdict", [verdict_text(row.verdict, row.results) for row in first])
    table = Table((verdicts, *_columns(first, cases, vary)), more=more_text(len(rows) - MAX_ROWS))
    for section in (
        Section(prose=sentences.counted(report, ratio), table=table),
        *([_coarse_section(report.coarse)] if report.coarse else []),
        *(reasons_section(name, read(report)) for name, read in LISTS.items()),
        differing(report.results),
        uncompared(report.results),
    ):
        if section.has_content:
            whole = ": ".join(filter(None, (title, section.title)))
            yield section._replace(title=whole, table=_with_ratio(section.table, ratio))


def _with_ratio(table: Table | None, ratio: str) -> Table | None:
    """Returns the table with another title of the column of ratios."""
    if table is None:
        return None
    columns = (
        column._replace(title=ratio, page_title=f"Time, {ratio}")
        if column.title == RATIO
        else column
        for column in table.columns
    )
    return table._replace(columns=tuple(columns))
