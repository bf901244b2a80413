"""The report of a comparison of implementations: a table of each operation and shape, and one of
all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opperf.comparison.compared import interval_text, ratio_text
from opperf.comparison.versus.judging import ArmRow, Total, Versus
from opperf.plurals import pluralize
from opperf.reports.fields import (
    COUNT,
    LABEL,
    LONG_NAME,
    MEMORY,
    NUMBER,
    TEXT,
    TIMES,
    WORD,
    Field,
    number,
    objects_of,
    rows_of,
    table_of,
    texts_table,
)
from opperf.reports.model import Cell, Report, Section, Test
from opperf.shares import share_text
from opperf.statistics.data import Verdict

VERDICTS = {
    Verdict.REGRESSED: "slower",
    Verdict.IMPROVED: "faster",
    Verdict.SAME: "same",
    Verdict.AMBIGUOUS: "not clear",
}
"""Words of verdicts on an arm against the first."""

RESULTS = {"same": "PASS", "different": "FAIL"}
"""Words of results; others are as they are."""

ERROR = number("{:.1e}".format)


def _verdict(row: ArmRow) -> str:
    """Returns the verdict in words: a wrong implementation has none."""
    if row.is_wrong:
        return "wrong"
    return "" if row.verdict is None else VERDICTS.get(row.verdict, row.verdict.value)


def _struck(shown: Callable[[ArmRow], Any]) -> Callable[[ArmRow], Cell]:
    """Returns what strikes out a cell of a wrong implementation."""
    return lambda row: Cell(shown(row), is_struck=row.is_wrong)


def fields(is_quick: bool) -> tuple[Field[ArmRow], ...]:
    """Returns the columns of rows."""
    return (
        Field("operation", None, LABEL, lambda row: row.operation),
        Field("inputs", None, TEXT, lambda row: row.inputs),
        Field("metric", None, LABEL, lambda row: row.metric),
        Field("arm", "Arm", LABEL, lambda row: row.arm, _struck(lambda row: row.arm)),
        Field("operator", "Operator", LONG_NAME, lambda row: row.operator),
        Field("new", "Time", TIMES, lambda row: row.time, _struck(lambda row: row.time)),
        Field("unit", None, LABEL, lambda row: "ns"),
        Field("base", None, LABEL, lambda row: row.base),
        Field(
            "ratio",
            "Ratio",
            NUMBER,
            lambda row: row.ratio,
            _struck(lambda row: ratio_text(row.ratio)),
        ),
        Field("low", None, NUMBER, lambda row: row.low),
        Field("high", None, NUMBER, lambda row: row.high),
        Field(
            "",
            None if is_quick else "90 % interval",
            NUMBER,
            lambda row: interval_text(row.low, row.high),
        ),
        Field(
            "verdict",
            None if is_quick else "Verdict",
            WORD,
            lambda row: "" if row.verdict is None else row.verdict.value,
            _verdict,
        ),
        Field("memory", "Memory", MEMORY, lambda row: row.memory, is_optional=True),
        Field(
            "results",
            "Results",
            LABEL,
            lambda row: row.results,
            lambda row: RESULTS.get(row.results, row.results),
        ),
        Field("error", "Error", ERROR, lambda row: row.error, is_optional=True),
        Field("difference", "Difference", TEXT, lambda row: row.difference, is_optional=True),
        Field("note", "Note", TEXT, lambda row: row.note, is_optional=True),
        Field("p", None, NUMBER, lambda row: row.p),
        Field("blocks", None, NUMBER, lambda row: row.blocks),
        Field("id", None, LABEL, lambda row: row.id),
    )


TOTALS: tuple[Field[Total], ...] = (
    Field("arm", "Arm", LABEL, lambda one: one.arm),
    Field("ratio", "Mean ratio", number(ratio_text), lambda one: one.ratio),
    Field("rows", "Rows", COUNT, lambda one: one.rows),
    Field("fastest", "Fastest", COUNT, lambda one: one.fastest),
    Field("measured", "Measured", COUNT, lambda one: one.measured),
    Field("passed", "Pass", COUNT, lambda one: one.passed),
    Field("wrong", "Wrong", COUNT, lambda one: one.wrong),
    Field("lacking", "Lacking", COUNT, lambda one: one.lacking),
)


def report_of(found: Versus) -> Report:
    """Returns the report, for every format."""
    columns = fields(found.is_quick)
    header, rows = rows_of(columns, found.rows)
    return Report(
        command="versus",
        title=f"{', '.join(found.arms)} side by side",
        sections=list(_sections(found)),
        data={
            "command": "versus",
            "arms": found.arms,
            "is_quick": found.is_quick,
            "valid": found.valid,
            "reason": found.reason,
            "threshold": found.threshold,
            "fail_on": found.fail_on,
            "rows": objects_of(columns, found.rows),
            "totals": objects_of(TOTALS, found.totals),
            "lacking": found.lacking,
            "excluded": found.excluded,
            "absent": found.absent,
            "numerics": found.numerics,
        },
        header=header,
        rows=rows,
        tests=list(map(_test, found.rows)),
    )


def _sections(found: Versus) -> Iterator[Section]:
    columns = fields(found.is_quick)
    groups: dict[tuple[str, str, str], list[ArmRow]] = {}
    for row in found.rows:
        groups.setdefault((row.operation, row.inputs, row.metric), []).append(row)
    for (operation, inputs, metric), rows in groups.items():
        yield Section(title=f"{operation} ({inputs}), {metric}", table=table_of(columns, rows))
    yield Section(title="All rows", table=table_of(TOTALS, found.totals), prose=_prose(found))
    listed = [
        *((arm, "", why) for arm, why in found.absent.items()),
        *(("", operation, why) for operation, why in found.excluded.items()),
        *((lack.arm, f"{lack.operation} ({lack.inputs})", lack.reason) for lack in found.lacking),
    ]
    if listed:
        yield Section(title="Not measured", table=texts_table(("Arm", "Operation", "Why"), listed))
    yield from _numerics(found)


def _prose(found: Versus) -> list[str]:
    first = found.arms[0]
    how = (
        "Calls of the arms alternated within each process."
        if found.alternates
        else "Each process has one arm, and processes take turns."
    )
    if found.is_quick:
        return [
            f"A first look: {pluralize(found.processes, 'process')}; its ratios to {first} are not "
            "verdicts. Measure without --quick for those."
        ]
    if not found.valid:
        return [f"The session is invalid, and no verdict holds: {found.reason}."]
    return [
        f"Ratio: time over that of {first}, or of the first arm that has the row; slower and "
        f"faster are by more than {share_text(found.threshold)}. {how}"
    ]


def _numerics(found: Versus) -> Iterator[Section]:
    names = dict.fromkeys(name for own in found.numerics.values() for name in own)
    rows = [
        (arm, ", ".join(f"{name} {own[name]}" for name in names if name in own))
        for arm, own in found.numerics.items()
    ]
    differing = [
        name
        for name in names
        if len({own[name] for own in found.numerics.values() if name in own}) > 1
    ]
    prose = [f"Not the same in all arms: {', '.join(differing)}."] if differing else []
    yield Section(title="Numerics", table=texts_table(("Arm", "Settings"), rows), prose=prose)


def _test(row: ArmRow) -> Test:
    name = f"{row.operation} ({row.inputs}) {row.metric}: {row.arm}"
    if row.is_wrong:
        return Test(row.operation, name, row.id, "failure", row.difference, "wrong")
    ratio = "" if row.ratio is None else f"ratio {ratio_text(row.ratio)} {_verdict(row)}"
    return Test(row.operation, name, row.id, "system-out", ratio.strip())
