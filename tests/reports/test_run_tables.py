"""The tables of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pytest

from opperf.model import Note, NoteCode, Record, Run, Status
from opperf.reports.run_page import markdown_text
from opperf.reports.run_tables import (
    LEGEND,
    STATUS_WIDTH,
    axis_tables,
    column_setting,
    is_swept,
    legend,
    results_table,
    row_count,
    run_text,
    sweep_tables,
)
from opperf.reports.text import INPUTS_WIDTH, render, terminal_columns
from opperf.results.columns import select_columns
from opperf.results.text import inputs_text
from opperf.results.units import MARK_LEGEND
from tests.results.conftest import record, summary

MakeRecord = Callable[..., Record]


def table_text(
    records: Sequence[Record], width: int | None = None, names: Sequence[str] = ()
) -> str:
    return render(results_table(records, select_columns(records, names)), width)


def cells_of(line: str, dashes: str) -> list[str]:
    """The cells of a line, between where the dashes under the titles begin and end."""
    ends = [at for at, char in enumerate(dashes + " ") if char == " " and dashes[at - 1] == "-"]
    found, begin = [], 0
    for end in ends:
        found.append(line[begin:end])
        begin = end + 1
    return found


def test_a_line_for_each_record(run: Run) -> None:
    titles, dashes, *lines = table_text(run.records).splitlines()
    assert [cell.strip() for cell in cells_of(titles, dashes)] == [
        *("Operator", "Inputs", "Forward ms", "Backward ms", "Memory MB", "Status")
    ]
    rows = [[cell.strip() for cell in cells_of(line, dashes)] for line in lines]
    assert rows == [
        ["relu", "data: (1024, 1024)", "2.0     ±5.0 %", "3.0 ±5.0 %", "4.2 ±5.0 %", ""],
        ["abs", "data: (64,), axis: None", "2.0     ±5.0 %", "3.0 ±5.0 %", "4.2 ±5.0 %", ""],
        ["relu", "data: (8,)", "0.00150 ±5.0 %", "---", "---", ""],
        ["argmax", "data: (1024, 1024)", *["---"] * 3, "skipped: does not take int8"],
        ["argmin", "data: (1024, 1024)", *["---"] * 3, "skipped: does not take int8"],
        [
            *("svd", "data: (1024, 1024)"),
            *(["---"] * 3),
            "crashed: the worker died: signal 11 | core dumped",
        ],
    ]


def test_numbers_are_aligned_to_the_right(run: Run) -> None:
    _, dashes, first, _, third, *_ = table_text(run.records).splitlines()
    operator, inputs, forward, *_, status = cells_of(third, dashes)
    assert operator.startswith("relu") and inputs.startswith("data") and not status.strip()
    point = cells_of(first, dashes)[2].index(".")
    assert forward.index(".") == point and forward.rstrip().endswith(" %")


def test_a_status_is_shown_only_where_there_is_one(run: Run) -> None:
    titles, dashes, *_ = table_text(run.records[:3]).splitlines()
    assert cells_of(titles, dashes)[-1].strip() == "Memory MB" and "Status" not in titles


def test_long_texts_are_cut(make_record: MakeRecord) -> None:
    record = make_record(status=Status.FAILED, reason="r" * 99, text="t" * 99)
    _, dashes, line = table_text([record]).splitlines()
    _, inputs, *_, status = cells_of(line, dashes)
    assert (len(inputs.rstrip()), len(status)) == (INPUTS_WIDTH, STATUS_WIDTH)
    assert inputs.rstrip().endswith("t…") and status.endswith("r...")


WIDTHS = [80, 120, 200]


def shapes(make_record: MakeRecord) -> list[Record]:
    """Three cases of an operator with inputs of 29, 78 and 230 characters."""
    return [
        make_record("broadcast_add", text="short"),
        make_record("broadcast_add", text="word " * 10 + "end"),
        make_record("broadcast_add", text="word " * 40 + "end"),
    ]


def column_of_inputs(table: str) -> list[str]:
    """The cells of the inputs, each with all its lines, one space between two."""
    _, dashes, *lines = table.splitlines()
    begin = dashes.index(" ") + 1
    end = dashes.index(" ", begin)
    rows: list[str] = []
    for line in lines:
        if line[:begin].strip():
            rows.append("")
        rows[-1] += " " + line[begin:end].strip()
    return [row.strip() for row in rows]


@pytest.mark.parametrize("width", WIDTHS)
def test_inputs_use_what_the_figures_leave(make_record: MakeRecord, width: int) -> None:
    records = shapes(make_record)
    table = table_text(records, width)
    lines = table.splitlines()
    assert width - len("word ") < max(map(len, lines)) <= width
    short, middle, long = column_of_inputs(table)
    texts = [inputs_text(record.case) for record in records]
    # Nothing is cut that there is room for.
    assert (short, middle) == (texts[0], " ".join(texts[1].split())) and "…" not in short + middle
    assert long.endswith("…") and len(long) >= INPUTS_WIDTH - 20


def test_a_wide_terminal_has_each_case_on_a_line(make_record: MakeRecord) -> None:
    assert len(table_text(shapes(make_record), 200).splitlines()) == 2 + 3


@pytest.mark.parametrize("width", WIDTHS)
def test_figures_are_never_cut_and_follow_in_further_tables(
    make_record: MakeRecord, width: int
) -> None:
    names = ("forward", "backward", "ratio", "total", "memory", "p50", "p90", "p99", "kernel")
    records = shapes(make_record)
    tables = table_text(records, width, names).split("\n\n")
    assert max(len(line) for table in tables for line in table.splitlines()) <= width
    assert (len(tables) > 1) is (width < 200)
    titles = [table.splitlines()[0] for table in tables]
    assert all(title.startswith("Operator       Inputs ") for title in titles)
    found = "".join(title.partition("Inputs")[2] for title in titles).split("  ")
    assert [one.strip() for one in found if one.strip()] == [
        *("Forward ms", "Backward ms", "Backward/forward", "Total ms", "Memory MB"),
        *("P50 ms", "P90 ms", "P99 ms", "Kernel ns"),
    ]
    assert sum(table.count(" 2.0 ±5.0 %") for table in tables) == 3


def test_the_mark_is_explained_only_where_it_is(make_record: MakeRecord) -> None:
    record = make_record()
    noted = msgspec.structs.replace(record, notes=(Note("backward", NoteCode.DRIFT, "x"),))
    assert table_text([record, noted]).count("?") == 1
    assert legend([record, noted], select_columns([record])) == [LEGEND, MARK_LEGEND]
    assert legend([record, noted], select_columns([record], ("forward",))) == [LEGEND]
    assert legend([record], select_columns([record])) == [LEGEND]


def test_names_that_look_like_numbers_stay_as_they_are(make_record: MakeRecord) -> None:
    assert table_text([make_record("1e5")]).splitlines()[2].startswith("1e5 ")


def test_a_table_of_nothing() -> None:
    assert table_text(()).split()[:2] == ["Operator", "Inputs"]


def cells(titled):
    """The titles of a table's columns, and the rows of its cells."""
    columns = terminal_columns(titled.table.columns, None)
    rows = zip(*([cell.strip() for cell in column.cells] for column in columns), strict=True)
    return [column.title for column in columns], list(rows)


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


def axis_text(records, width=None):
    return "\n\n".join(f"{one.title}\n\n{render(one.table, width)}" for one in axis_tables(records))


@pytest.fixture
def records():
    return [made(*key, time) for key, time in TIMES.items()]


def test_the_setting_that_changes_times_most_has_the_columns(records):
    assert column_setting(records) == "mode"
    one_mode = [one for one in records if one.case.settings.mode == "eager"]
    assert column_setting(one_mode) == "threads"


def test_a_record_without_a_time_is_no_effect_of_a_setting(records):
    compiled = [one for one in records if one.case.settings.mode != "eager"]
    without = [
        msgspec.structs.replace(one, summaries={"memory": summary(1.0, "B")}) for one in compiled
    ]
    eager = [one for one in records if one.case.settings.mode == "eager"]
    assert column_setting([*eager, *without]) == "threads"


SHOWN = """\
Forward by mode

Operator  Inputs              Settings     eager us  compile us  compile/eager
--------- ------------------- ---------- ----------- ----------- -------------
relu      data: (1024, 1024)  threads 1  100 ±5.0 %   50 ±5.0 %         0.5000
relu      data: (1024, 1024)  threads 2   90 ±5.0 %   46 ±5.0 %         0.5111
add       data: (1024, 1024)  threads 1  200 ±5.0 %  400 ±5.0 %         2
add       data: (1024, 1024)  threads 2  190 ±5.0 %  400 ±5.0 %         2.105"""


def test_a_row_has_each_value_and_its_ratio_to_the_first(records):
    assert axis_text(records, 200) == SHOWN == run_text(records, 200)


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
    assert cells(table)[1] == [("relu", "data: (1024, 1024)", "100 ±5.0 %", "failed", "---")]


def test_an_uncertain_figure_makes_its_ratio_uncertain():
    wide = made("relu", "compile", 1, 50_000.0, ci_low=30_000.0, ci_high=90_000.0)
    (table,) = axis_tables([made("relu", "eager", 1, 100_000.0), wide])
    assert cells(table)[1][0][-1] == "0.5000 ?"


def test_no_case_vanishes(records):
    """Of cases that look alike, each has a row, and records without a partner stay a list."""
    doubled = [*records, *records[:2]]
    (table,) = axis_tables(doubled)
    _, rows = cells(table)
    assert sum("us" not in cell and "±" in cell for row in rows for cell in row) == len(doubled)
    alone = [made(name, "eager", 1, 1000.0) for name in ("a", "b", "c")]
    mixed = [*alone, *records[:2]]
    assert axis_tables(mixed) == [] and axis_text(mixed) == ""
    assert len(run_text(mixed).splitlines()) == 2 + len(mixed)


def test_numbers_have_the_name_of_their_setting():
    pair = [made("relu", "eager", threads, 1000.0 * threads) for threads in (1, 2)]
    (table,) = axis_tables(pair, ("forward",))
    assert cells(table)[0][2:] == ["threads 1 us", "threads 2 us", "threads 2/threads 1"]


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
        text = axis_text(records, width)
        assert "…" not in text and max(map(len, text.splitlines())) <= width


def test_one_line_has_a_table_of_its_metrics_with_the_sizes_sorted(make_point):
    both = {"forward": summary(2000.0), "memory": summary(8192.0, "B")}
    records = [make_point(n=n, moved=16000, summaries=both) for n in (1024, 64)]
    (table,) = sweep_tables(records)
    assert table.title == "relu: data: (16, n)"
    titles, rows = cells(table)
    assert titles == ["n", "Forward us", "Memory kB", "Forward GB/s"]
    assert [row[0] for row in rows] == ["64", "1024"]
    assert [row[3] for row in rows] == ["8.0 ±5.0 %", "8.0 ±5.0 %"]
    assert rows[0][1].lstrip().startswith("2.0") and rows[0][2].startswith("8.")


def test_several_lines_have_a_table_for_each_metric_with_a_column_each(make_point):
    both = {"forward": summary(2000.0), "memory": summary(8192.0, "B")}
    records = [
        make_point(name, n=n, dtype=dtype, summaries=both)
        for dtype in ("float32", "float64")
        for name in ("relu", "exp")
        for n in (64, 128)
    ]
    forward, memory = sweep_tables(records)
    assert (forward.title, memory.title) == ("Forward by n", "Memory by n")
    # The columns of one operator are together.
    assert cells(forward)[0][1:] == [
        "relu\nfloat32\nus",
        "relu\nfloat64\nus",
        "exp\nfloat32\nus",
        "exp\nfloat64\nus",
    ]
    assert cells(memory)[0][1:][0] == "relu\nfloat32\nkB"


def test_the_only_operator_is_in_the_title(make_point):
    (table,) = sweep_tables([make_point(n=n, threads=t) for t in (1, 2) for n in (64, 128)])
    assert table.title == "Forward of relu by n"
    assert cells(table)[0][1:] == ["threads 1\nus", "threads 2\nus"]


def test_several_variables_have_a_column_each(make_point):
    (table,) = sweep_tables([make_point(n=n, m=m) for n in (64, 128) for m in (2, 1)])
    _, rows = cells(table)
    assert [row[:2] for row in rows] == [("64", "1"), ("64", "2"), ("128", "1"), ("128", "2")]


def test_operators_with_other_variables_have_tables_of_their_own(make_point):
    tables = sweep_tables([make_point("relu", n=64), make_point("exp", n=64, m=2)])
    assert [cells(table)[0][:-1] for table in tables] == [["n"], ["n", "m"]]


def test_a_point_without_a_result_has_its_status_and_a_missing_one_a_dash(make_point):
    records = [
        make_point("relu", n=64),
        make_point("relu", n=128, status=Status.CRASHED),
        make_point("exp", n=64),
    ]
    (table,) = sweep_tables(records)
    _, rows = cells(table)
    assert [row[1].strip() for row in rows][1] == "crashed"
    assert [row[2].strip() for row in rows][1] == "---"


@pytest.mark.parametrize("width", [80, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_no_column_is_lost(make_point, width):
    names = [f"operator_number_{i}" for i in range(12)]
    records = [make_point(name, n=n, threads=1) for name in names for n in (64, 128)]
    lines = run_text(records, width).splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.split().count(name) for line in lines for name in names) == len(names)
    # Each part has the sizes.
    assert sum(line.startswith(" 64") for line in lines) > (1 if width < 200 else 0)


def test_records_that_are_no_points_have_the_usual_table(make_point, make_record):
    records = [make_point(n=64), make_record("dot"), make_point(n=128)]
    text = run_text(records)
    assert text.index("relu: data: (16, n)") < text.index("Operator  Inputs")
    assert is_swept(records) and row_count(records) == 3
    assert not is_swept([make_record()]) and row_count([make_record(), make_record()]) == 2
    assert run_text([make_record("dot")]).startswith("Operator  Inputs")
