"""Intervals in the formats that have a place for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from opperf.formats import bencher, github_action
from opperf.formats.exporting import export_of
from opperf.model import Record, Run

MakeRecord = Callable[..., Record]


@pytest.fixture
def measured(run: Run, make_record: MakeRecord) -> Callable[..., Run]:
    """A run of one figure: a median of 2 ms."""

    def made(**changed: Any) -> Run:
        forward = msgspec.structs.replace(make_record().summaries["forward"], **changed)
        return msgspec.structs.replace(run, records=(make_record(summaries={"forward": forward}),))

    return made


@pytest.mark.parametrize(
    ("low", "high", "reach"),
    [(1.7e6, 2.1e6, "± 0.3"), (1.9e6, 2.4e6, "± 0.4"), (2e6, 2e6, "± 0.0")],
)
def test_the_range_is_the_longer_half(
    measured: Callable[..., Run], low: float, high: float, reach: str
) -> None:
    ((entry,), _) = github_action.write_run(measured(ci_low=low, ci_high=high))
    assert entry["range"] == reach and entry["value"] == 2.0


@pytest.mark.parametrize(
    ("changed", "has_one"),
    [
        ({"n": 1}, False),
        ({"n": 2}, True),
        ({"ci_low": math.nan}, False),
        ({"ci_high": math.inf}, False),
    ],
)
def test_an_interval_takes_two_samples_and_finite_ends(
    measured: Callable[..., Run], changed: dict[str, Any], has_one: bool
) -> None:
    run = measured(**changed)
    ((entry,), _) = github_action.write_run(run)
    assert ("range" in entry) is has_one
    (measures,) = bencher.write(export_of(run))[0].values()
    assert set(measures["latency"]) == (
        {"value", "lower_value", "upper_value"} if has_one else {"value"}
    )


def test_figures_keep_every_digit(measured: Callable[..., Run]) -> None:
    ((entry,), _) = github_action.write_run(measured(median=1_234_567.8, n=1))
    assert (entry["value"], entry["unit"]) == (1.2345678, "ms")
    assert entry["extra"].startswith("median of 1 sample\ncase ")
