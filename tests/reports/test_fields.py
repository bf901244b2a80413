"""Columns that are declared once, in every form."""

from typing import NamedTuple

from opperf.reports.fields import (
    COUNT,
    LABEL,
    NAME,
    PERCENT,
    TEXT,
    Field,
    figure,
    objects_of,
    rows_of,
    table_of,
)
from opperf.reports.model import Cell, ColumnKind, Report, Section
from opperf.results.units import Figure
from tests.writing import told


class Measured(NamedTuple):
    name: str
    calls: int | None = None
    share: float | None = None
    time: Figure | None = None
    tags: tuple[str, ...] = ()
    verdict: str = ""


ROWS = (
    Measured("relu", 1200, 0.25, Figure(2e6, 1e5), ("fast", "small"), "slower"),
    Measured("sum", None, None, None),
)

VERDICT = ColumnKind(tone=lambda verdict: "worse" if verdict == "slower" else "")

FIELDS: tuple[Field[Measured], ...] = (
    Field("name", "Name", NAME, lambda row: row.name),
    Field("calls", "Calls", COUNT, lambda row: row.calls),
    Field("share", "Share", PERCENT, lambda row: row.share),
    Field("time_ms", "Time", figure("ns", file_size=1e6), lambda row: row.time),
    Field("tags", "Tags", TEXT, lambda row: row.tags),
    Field("verdict", "Verdict", VERDICT, lambda row: row.verdict),
    Field("", "Shown", LABEL, lambda row: row.name, shown=lambda row: Cell(row.name, depth=1)),
    Field("whole", None, LABEL, lambda row: bool(row.tags)),
    Field("note", "Note", TEXT, lambda row: "", is_optional=True),
)


def test_values_in_files_have_all_digits():
    first, second = objects_of(FIELDS, ROWS)
    assert first == {
        "name": "relu",
        "calls": 1200,
        "share": 0.25,
        "time_ms": 2.0,
        "tags": ("fast", "small"),
        "verdict": "slower",
        "whole": True,
        "note": "",
    }
    assert (second["calls"], second["time_ms"], second["tags"]) == (None, None, ())


def test_rows_of_csv_have_texts_and_numbers():
    header, (first, second) = rows_of(FIELDS, ROWS)
    assert header == ["name", "calls", "share", "time_ms", "tags", "verdict", "whole", "note"]
    assert first == ["relu", 1200, 0.25, 2.0, "fast, small", "slower", "true", ""]
    assert second == ["sum", "", "", "", "", "", "false", ""]


def test_tables_have_titles_and_tones_and_omit_what_no_row_has():
    table = table_of(FIELDS, ROWS)
    assert [column.title for column in table.columns] == [
        *("Name", "Calls", "Share", "Time", "Tags", "Verdict", "Shown")
    ]
    by_title = {column.title: column for column in table.columns}
    assert by_title["Verdict"].cells == [Cell("slower", "worse"), Cell("")]
    assert by_title["Shown"].cells[0].depth == 1
    report = Report("list", "", [Section(table=table)], None)
    titles, _, first, second = told(report).splitlines()
    assert titles.split() == ["Name", "Calls", "Share", "Time", "ms", "Verdict", "Shown", "Tags"]
    assert first.split()[:6] == ["relu", "1,200", "25.0", "%", "2.0", "±5.0"]
    assert second.split() == ["sum", "---", "sum"]
    assert "**slower**" in told(report, "md")


def test_inputs_are_told_from_those_of_the_whole_run():
    run = [("sum", "data: (1, 2)"), ("sum", "data: (3, 4)")]
    field: Field[int] = Field("inputs", "Inputs", TEXT, run.__getitem__, among=run)
    assert objects_of([field], [1]) == [{"inputs": "data: (3, 4)"}]
    (column,) = table_of([field], [1]).columns
    assert column.cases == ([run[1]], run) and column.cells == [Cell("data: (3, 4)")]
