"""Records as a table."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from opperf.model import Note, NoteCode, Record, Run, Status
from opperf.results.columns import select_columns
from opperf.results.table import INPUTS_WIDTH, LEGEND, STATUS_WIDTH, legend, render_table
from opperf.results.text import inputs_text
from opperf.results.units import MARK_LEGEND

MakeRecord = Callable[..., Record]


def cells(line: str, dashes: str) -> list[str]:
    """The cells of a line, between where the dashes under the titles begin and end."""
    ends = [at for at, char in enumerate(dashes + " ") if char == " " and dashes[at - 1] == "-"]
    found, begin = [], 0
    for end in ends:
        found.append(line[begin:end])
        begin = end + 1
    return found


def test_a_line_for_each_record(run: Run) -> None:
    titles, dashes, *lines = render_table(run.records).splitlines()
    assert [cell.strip() for cell in cells(titles, dashes)] == [
        *("Operator", "Inputs", "Forward ms", "Backward ms", "Memory MB", "Status")
    ]
    rows = [[cell.strip() for cell in cells(line, dashes)] for line in lines]
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
    _, dashes, first, _, third, *_ = render_table(run.records).splitlines()
    operator, inputs, forward, *_, status = cells(third, dashes)
    assert operator.startswith("relu") and inputs.startswith("data") and not status.strip()
    point = cells(first, dashes)[2].index(".")
    assert forward.index(".") == point and forward.rstrip().endswith(" %")


def test_a_status_is_shown_only_where_there_is_one(run: Run) -> None:
    titles, dashes, *_ = render_table(run.records[:3]).splitlines()
    assert cells(titles, dashes)[-1].strip() == "Memory MB" and "Status" not in titles


def test_long_texts_are_cut(make_record: MakeRecord) -> None:
    record = make_record(status=Status.FAILED, reason="r" * 99, text="t" * 99)
    _, dashes, line = render_table([record]).splitlines()
    _, inputs, *_, status = cells(line, dashes)
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
    table = render_table(records, width)
    lines = table.splitlines()
    assert width - len("word ") < max(map(len, lines)) <= width
    short, middle, long = column_of_inputs(table)
    texts = [inputs_text(record.case) for record in records]
    # Nothing is cut that there is room for.
    assert (short, middle) == (texts[0], " ".join(texts[1].split())) and "…" not in short + middle
    assert long.endswith("…") and len(long) >= INPUTS_WIDTH - 20


def test_a_wide_terminal_has_each_case_on_a_line(make_record: MakeRecord) -> None:
    assert len(render_table(shapes(make_record), 200).splitlines()) == 2 + 3


@pytest.mark.parametrize("width", WIDTHS)
def test_figures_are_never_cut_and_follow_in_further_tables(
    make_record: MakeRecord, width: int
) -> None:
    names = ("forward", "backward", "ratio", "total", "memory", "p50", "p90", "p99", "kernel")
    records = shapes(make_record)
    tables = render_table(records, width, names).split("\n\n")
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
    assert render_table([record, noted]).count("?") == 1
    assert legend([record, noted], select_columns([record])) == [LEGEND, MARK_LEGEND]
    assert legend([record, noted], select_columns([record], ("forward",))) == [LEGEND]
    assert legend([record], select_columns([record])) == [LEGEND]


def test_names_that_look_like_numbers_stay_as_they_are(make_record: MakeRecord) -> None:
    assert render_table([make_record("1e5")]).splitlines()[2].startswith("1e5 ")


def test_a_table_of_nothing() -> None:
    assert render_table(()).split()[:2] == ["Operator", "Inputs"]
