"""Figures in the units of results."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from opperf.model import Record
from opperf.results.units import device_label, sort_by_operator, statistic_value

MakeRecord = Callable[..., Record]


def test_times_are_milliseconds_to_the_nanosecond(make_record: MakeRecord) -> None:
    forward = msgspec.structs.replace(make_record().summaries["forward"], p90=1_234_567.8)
    assert (
        statistic_value(make_record(summaries={"forward": forward}), "forward", "p90") == 1.234568
    )


def test_memory_is_kilobytes_to_the_byte(make_record: MakeRecord) -> None:
    memory = msgspec.structs.replace(make_record().summaries["memory"], median=1_234_567.0)
    record = make_record(summaries={"memory": memory})
    assert statistic_value(record, "memory", "median") == 1234.567


def test_what_was_not_measured(make_record: MakeRecord) -> None:
    record = make_record(summaries={})
    assert statistic_value(record, "forward", "median") is None


def test_device_labels() -> None:
    assert [device_label(d) for d in ("cpu(0)", "gpu(2)", "cuda:1")] == ["cpu/0", "gpu/2", "cuda:1"]


def test_records_of_one_operator_keep_their_order(make_record: MakeRecord) -> None:
    records = [make_record(name, shape=(n,)) for name, n in (("b", 9), ("a", 7), ("b", 3))]
    assert sort_by_operator(records) == [records[1], records[0], records[2]]
