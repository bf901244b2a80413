"""What of a run can be exported."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import pytest

from opperf.errors import RunFileError
from opperf.model import Record, Run, Status
from opperf.results.exports import ExportEntry, select_figures

MakeRecord = Callable[..., Record]


def names(one: ExportEntry) -> tuple[str, ...]:
    return tuple(one.figures)


def of(run: Run, *records: Record) -> Run:
    return msgspec.structs.replace(run, records=records)


def test_the_figures_of_what_was_measured(run: Run) -> None:
    found, warnings = select_figures(run)
    assert [(one.record.case.label, names(one)) for one in found] == [
        ("relu", ("forward", "backward", "memory")),
        ("abs", ("forward", "backward", "memory")),
        ("relu", ("forward",)),
    ]
    assert warnings == ["excluded: 3 cases not measured"]


def test_nothing_is_said_where_nothing_is_left_out(run: Run, make_record: MakeRecord) -> None:
    assert select_figures(of(run, make_record()))[1] == []


def test_figures_that_are_not_finite_are_excluded(run: Run, make_record: MakeRecord) -> None:
    summaries = make_record().summaries
    odd = {
        name: msgspec.structs.replace(summaries[name], median=median)
        for name, median in (("backward", math.nan), ("memory", math.inf), ("total", math.nan))
    }
    ((one,), warnings) = select_figures(of(run, make_record(summaries={**summaries, **odd})))
    assert names(one) == ("forward",)
    # The total is no figure of an export.
    assert warnings == ["excluded: 2 figures not finite"]


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_a_figure_of_what_failed_is_none(run: Run, make_record: MakeRecord, status: Status) -> None:
    failed = make_record(status=status, summaries=make_record().summaries, reason="no")
    with pytest.raises(RunFileError, match="no case was measured"):
        select_figures(of(run, failed))
