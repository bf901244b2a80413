"""Records as a table."""

from __future__ import annotations

from collections.abc import Callable

from opperf.model import Record, Run, Status
from opperf.results.table import render_table

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
    assert (len(inputs.rstrip()), len(status)) == (60, 50)
    assert inputs.rstrip().endswith("t…") and status.endswith("r...")


def test_names_that_look_like_numbers_stay_as_they_are(make_record: MakeRecord) -> None:
    assert render_table([make_record("1e5")]).splitlines()[2].startswith("1e5 ")


def test_a_table_of_nothing() -> None:
    assert render_table(()).split()[:2] == ["Operator", "Inputs"]
