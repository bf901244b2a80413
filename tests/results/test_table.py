"""Records as a table."""

from __future__ import annotations

from collections.abc import Callable

from opperf.model import Record, Run
from opperf.results.table import render_table

MakeRecord = Callable[..., Record]


def test_table_shows_a_status_only_where_there_is_one(run: Run) -> None:
    lines = render_table(run.records).splitlines()
    assert lines[0].split() == [
        "Operator",
        "Inputs",
        "Mem",
        "kB",
        "Fwd",
        "ms",
        "Bwd",
        "ms",
        "Status",
    ]
    assert lines[2].split() == [
        "relu",
        "data:",
        "(1024,",
        "1024)",
        "4194.304",
        "2.200000",
        "3.300000",
    ]
    assert lines[-1].endswith("crashed: the worker died: signal 11 | core dumped")
    assert "Status" not in render_table(run.records[:3])
    assert "---" in render_table(run.records[:3]).splitlines()[-1]


def test_table_of_nothing() -> None:
    assert "Operator" in render_table(())
