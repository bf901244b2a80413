"""What of a run can be exported."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import pytest

from opperf.errors import RunFileError
from opperf.formats.exporting import Export, export_of
from opperf.model import Record, Run, Status

MakeRecord = Callable[..., Record]


def of(run: Run, *records: Record) -> Run:
    return msgspec.structs.replace(run, records=records)


def figures(export: Export) -> list[tuple[str, str]]:
    return [(entry.facts.name, entry.key.metric) for entry in export.latest().figures]


def test_the_figures_of_what_was_measured(run: Run) -> None:
    export = export_of(run)
    assert figures(export) == [
        *(("relu", metric) for metric in ("forward", "backward", "memory")),
        *(("abs", metric) for metric in ("forward", "backward", "memory")),
        ("relu", "forward"),
    ]
    (said,) = export.left_out_of_latest()
    assert said.startswith("excluded: 3 cases without a figure (")


def test_nothing_is_said_where_nothing_is_left_out(run: Run, make_record: MakeRecord) -> None:
    assert export_of(of(run, make_record())).left_out_of_latest() == []


def test_figures_that_are_not_finite_are_excluded(run: Run, make_record: MakeRecord) -> None:
    summaries = make_record().summaries
    odd = {
        name: msgspec.structs.replace(summaries[name], median=median)
        for name, median in (("backward", math.nan), ("memory", math.inf), ("total", math.nan))
    }
    export = export_of(of(run, make_record(summaries={**summaries, **odd})))
    assert figures(export) == [("relu", "forward")]
    # The total is no figure of an export.
    assert export.left_out_of_latest() == ["excluded: 2 figures not finite"]


def test_a_case_without_a_usual_metric_is_said(run: Run, make_record: MakeRecord) -> None:
    total = {"total": make_record().summaries["total"]}
    export = export_of(of(run, make_record(), make_record("abs", summaries=total)))
    (said,) = export.left_out_of_latest()
    assert said == "excluded: 1 case without a figure (1 without a usual metric)"


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_a_figure_of_what_failed_is_none(run: Run, make_record: MakeRecord, status: Status) -> None:
    failed = make_record(status=status, summaries=make_record().summaries, reason="no")
    with pytest.raises(RunFileError, match="no case was measured"):
        export_of(of(run, failed))
