"""What of a run can be exported, and what it is called."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from opperf.errors import RunFileError
from opperf.model import Record, Run, Settings, Status
from opperf.results.exports import (
    ExportEntry,
    are_finite,
    place_of,
    select_figures,
    unique_names,
)

MakeRecord = Callable[..., Record]


def names(one: ExportEntry) -> tuple[str, ...]:
    return tuple(metric.name for metric in one.metrics)


def of(run: Run, *records: Record) -> Run:
    return msgspec.structs.replace(run, records=records)


def test_the_figures_of_what_was_measured(run: Run) -> None:
    found, warnings = select_figures(run)
    assert [(one.record.case.label, names(one)) for one in found] == [
        ("relu", ("forward", "backward", "memory")),
        ("abs", ("forward", "backward", "memory")),
        ("relu", ("forward",)),
    ]
    assert {one.place for one in found} == {"mxnet cpu(0) float32 native"}
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


def named(make_record: MakeRecord, length: int, ending: str = "") -> Record:
    """A record whose operator and inputs take so many characters."""
    rest = len("relu[data: (1024, 1024), text: ]")
    return make_record(text="x" * (length - rest - len(ending)) + ending)


def test_a_name_may_have_896_characters(make_record: MakeRecord) -> None:
    fits, too_long = named(make_record, 896), named(make_record, 897)
    (name,) = unique_names([fits])
    assert len(name) == 896 and name.endswith("xxx]")
    (name,) = unique_names([too_long])
    assert len(name) == 896 and name.endswith(f"xxx {too_long.id}]")


def test_names_that_begin_alike_are_told_apart(make_record: MakeRecord) -> None:
    names = unique_names([named(make_record, 1000, ending) for ending in "ab"])
    assert len(set(names)) == 2 and {len(name) for name in names} == {896}


def test_a_name_that_only_one_has_is_without_id(make_record: MakeRecord) -> None:
    assert unique_names([make_record("relu"), make_record("abs")]) == [
        "relu[data: (1024, 1024)]",
        "abs[data: (1024, 1024)]",
    ]


def test_a_place_tells_what_is_not_usual(make_record: MakeRecord) -> None:
    def place(**settings: Any) -> str:
        case = make_record().case
        return place_of(msgspec.structs.replace(case, settings=Settings(**settings)))

    assert place(device="gpu(1)", runs=7, seed=3) == "mxnet gpu(1) float32 native"
    assert place(threads=1, cache="cold", phase="train") == (
        "mxnet cpu(0) float32 native threads=1 phase=train cache=cold"
    )


@pytest.mark.parametrize(
    ("values", "all_finite"),
    [((), True), ((1.0, 2.0), True), ((1.0, math.nan), False), ((math.inf, 1.0), False)],
)
def test_what_json_can_say(values: tuple[float, ...], all_finite: bool) -> None:
    assert are_finite(values) is all_finite
