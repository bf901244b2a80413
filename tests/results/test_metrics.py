"""Figures as readers are shown them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from opperf.model import Record
from opperf.results.metrics import device_label, shown_ms

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
    assert shown_ms(make_record(summaries={"forward": forward}), "forward", "median") == text


def test_device_labels() -> None:
    assert [device_label(d) for d in ("cpu(0)", "gpu(2)", "cuda:1")] == ["cpu/0", "gpu/2", "cuda:1"]
