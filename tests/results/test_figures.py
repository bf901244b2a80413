"""Figures in the units of results."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from opperf.model import Record
from opperf.results.figures import (
    device_label,
    memory_cell,
    sort_by_operator,
    statistic_value,
    time_cell,
)

MakeRecord = Callable[..., Record]


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0.000000"),
        (3.0, "0.000003"),
        (1234, "0.001234"),
        (123_456, "0.123456"),
        (12_345_678, "12.345678"),
        (123_456_789_000, "123456.789000"),
        (float("nan"), "nan"),
    ],
)
def test_times_in_tables(make_record: MakeRecord, nanoseconds: float, text: str) -> None:
    forward = msgspec.structs.replace(make_record().summaries["forward"], median=nanoseconds)
    assert time_cell(make_record(summaries={"forward": forward}), "forward", "median") == text


def test_times_are_milliseconds_to_the_nanosecond(make_record: MakeRecord) -> None:
    forward = msgspec.structs.replace(make_record().summaries["forward"], p90=1_234_567.8)
    assert (
        statistic_value(make_record(summaries={"forward": forward}), "forward", "p90") == 1.234568
    )


def test_memory_is_kilobytes_to_the_byte(make_record: MakeRecord) -> None:
    memory = msgspec.structs.replace(make_record().summaries["memory"], median=1_234_567.0)
    record = make_record(summaries={"memory": memory})
    assert statistic_value(record, "memory", "median") == 1234.567
    assert memory_cell(record) == "1234.567"


def test_what_was_not_measured(make_record: MakeRecord) -> None:
    record = make_record(summaries={})
    assert statistic_value(record, "forward", "median") is None
    assert (time_cell(record, "forward", "median"), memory_cell(record)) == ("---", "---")


def test_device_labels() -> None:
    assert [device_label(d) for d in ("cpu(0)", "gpu(2)", "cuda:1")] == ["cpu/0", "gpu/2", "cuda:1"]


def test_records_of_one_operator_keep_their_order(make_record: MakeRecord) -> None:
    records = [make_record(name, shape=(n,)) for name, n in (("b", 9), ("a", 7), ("b", 3))]
    assert sort_by_operator(records) == [records[1], records[0], records[2]]
