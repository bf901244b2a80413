"""Runs with several values of a setting: which setting has columns, and what the tables say."""

import msgspec
import pytest

from opperf.model import Status
from opperf.reports.run_page import markdown_text
from opperf.results.axis_table import axis_tables, column_setting, render_by_axis
from opperf.results.sweep_table import render_by_size
from tests.results.conftest import record, summary

TIMES = {
    ("relu", "eager", 1): 100_000.0,
    ("relu", "compile", 1): 50_000.0,
    ("relu", "eager", 2): 90_000.0,
    ("relu", "compile", 2): 46_000.0,
    ("add", "eager", 1): 200_000.0,
    ("add", "compile", 1): 400_000.0,
    ("add", "eager", 2): 190_000.0,
    ("add", "compile", 2): 400_000.0,
}


def made(name, mode, threads, forward, **changed):
    plain = record(name, summaries={"forward": summary(forward, **changed)})
    settings = msgspec.structs.replace(plain.case.settings, mode=mode, threads=threads)
    case = msgspec.structs.replace(plain.case, settings=settings)
    return msgspec.structs.replace(plain, case=case, id=case.id)


@pytest.fixture
def records():
    return [made(*key, time) for key, time in TIMES.items()]


def test_the_setting_that_changes_times_most_has_the_columns(records):
    assert column_setting(records) == "mode"
    one_mode = [one for one in records if one.case.settings.mode == "eager"]
    assert column_setting(one_mode) == "threads"


SHOWN = """\
Forward by mode

Operator  Inputs              Settings     eager us  compile us  compile/eager
--------- ------------------- ---------- ----------- ----------- -------------
relu      data: (1024, 1024)  threads 1  100 ±5.0 %   50 ±5.0 %         0.5000
relu      data: (1024, 1024)  threads 2   90 ±5.0 %   46 ±5.0 %         0.5111
add       data: (1024, 1024)  threads 1  200 ±5.0 %  400 ±5.0 %         2
add       data: (1024, 1024)  threads 2  190 ±5.0 %  400 ±5.0 %         2.105"""


def test_a_row_has_each_value_and_its_ratio_to_the_first(records):
    assert render_by_axis(records, 200) == SHOWN == render_by_size(records, 200)


def test_a_page_has_the_table_after_the_results(run, records):
    page = markdown_text(msgspec.structs.replace(run, records=tuple(records)))
    _, results, by_mode, *_ = page.split("\n## ")[0:1] + page.split("\n## ")[1:]
    assert results.startswith("Results") and by_mode.startswith("Forward by mode")
    (row,) = [line for line in by_mode.splitlines() if "relu" in line and "threads 2" in line]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == [
        "relu", "data: (1024, 1024)", "threads 2", "90 ±5.0 %", "46 ±5.0 %", "0.5111",
    ]  # fmt: skip


def test_a_value_without_a_figure_has_its_status_and_no_ratio(records):
    first, second, *_ = records
    failed = msgspec.structs.replace(second, status=Status.FAILED, summaries={}, reason="no")
    (table,) = axis_tables([first, failed])
    assert [column.cells for column in table.columns] == [["100 ±5.0 %"], ["failed"], ["---"]]


def test_an_uncertain_figure_makes_its_ratio_uncertain():
    wide = made("relu", "compile", 1, 50_000.0, ci_low=30_000.0, ci_high=90_000.0)
    (table,) = axis_tables([made("relu", "eager", 1, 100_000.0), wide])
    assert table.columns[-1].cells == ["0.5000 ?"]


def test_no_case_vanishes(records):
    """Of cases that look alike, each has a row, and records without a partner stay a list."""
    doubled = [*records, *records[:2]]
    (table,) = axis_tables(doubled)
    assert sum(len(row.records) for row in table.rows) == len(doubled)
    alone = [made(name, "eager", 1, 1000.0) for name in ("a", "b", "c")]
    mixed = [*alone, *records[:2]]
    assert axis_tables(mixed) == [] and render_by_axis(mixed) == ""
    assert len(render_by_size(mixed).splitlines()) == 2 + len(mixed)


def test_numbers_have_the_name_of_their_setting():
    pair = [made("relu", "eager", threads, 1000.0 * threads) for threads in (1, 2)]
    (table,) = axis_tables(pair, ("forward",))
    assert [column.title for column in table.columns] == [
        "threads 1 us",
        "threads 2 us",
        "threads 2/threads 1",
    ]


def test_settings_in_which_rows_differ_are_not_cut():
    records = []
    for dtype in ("float32", "bfloat16"):
        for threads in (1, 2):
            for mode, time in (("eager", 1000.0), ("compile", 90_000.0)):
                one = made("relu", mode, threads, time, ci_high=9 * time)
                settings = msgspec.structs.replace(one.case.settings, dtype=dtype)
                case = msgspec.structs.replace(one.case, settings=settings)
                records.append(msgspec.structs.replace(one, case=case, id=case.id))
    for width in (60, 66, 72, 80):
        text = render_by_axis(records, width)
        assert "…" not in text and max(map(len, text.splitlines())) <= width
