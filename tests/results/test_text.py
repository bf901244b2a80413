"""Inputs and durations as text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opperf.model import Record, TensorSpec
from opperf.results.text import duration, inputs_text

MakeRecord = Callable[..., Record]


def test_inputs(make_record: MakeRecord) -> None:
    record = make_record(
        "add_n",
        args=(TensorSpec((2, 3)), TensorSpec(())),
        axis=(0, 1),
        flags=(True, False),
        act_type="relu",
        exclude=False,
        p=0.5,
        none=None,
    )
    assert inputs_text(record.case) == (
        "data: (1024, 1024), args: [(2, 3), ()], axis: (0, 1), flags: [True, False], "
        "act_type: relu, exclude: False, p: 0.5, none: None"
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (125, "2 min 05 s"),
        (4200, "1 h 10 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
