"""The text after a run."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from opperf.model import Record, Run, Status
from opperf.results.summary import REASONS, WIDTH, summarise

MakeRecord = Callable[..., Record]


def test_summary_counts_and_groups(run: Run) -> None:
    text = summarise(run, 61.0)
    assert text.startswith("5 operators, 6 records (3 ok, 2 skipped, 1 crashed), in 1 min 01 s\n")
    assert "  2 skipped: does not take int8 (argmax, argmin)\n" in text
    assert "  1 crashed: the worker died: signal 11 | core dumped (svd)\n" in text
    assert "No benchmark for 2 operators:\n" in text
    assert "  1: needs a class: Custom" in text
    assert "  1: no rule: Proposal" in text


def test_summary_names_the_ten_slowest(run: Run, make_record: MakeRecord) -> None:
    base = make_record()
    records = tuple(
        make_record(
            f"op{i:02d}",
            summaries={
                "forward": msgspec.structs.replace(base.summaries["forward"], median=1e6 * i)
            },
        )
        for i in range(1, 15)
    )
    text = summarise(msgspec.structs.replace(run, records=records), 1.0)
    named = [line.split()[0] for line in text.splitlines() if line.startswith("op")]
    assert named == [f"op{i:02d}" for i in range(14, 4, -1)]
    assert "14.000000" in text


def test_summary_caps_reasons_but_loses_nobody(run: Run, make_record: MakeRecord) -> None:
    records = tuple(make_record(f"op{i}", Status.FAILED, reason=f"reason {i}") for i in range(25))
    header = msgspec.structs.replace(
        run.header, no_benchmark={f"name{i}": f"why {i}" for i in range(25)}
    )
    text = summarise(msgspec.structs.replace(run, header=header, records=records), 1.0)
    assert f"  {25 - REASONS} more, for {25 - REASONS} other reasons, in the output" in text
    assert all(f"name{i}" in text for i in range(25))
    assert max(len(line) for line in text.splitlines()) <= WIDTH


def test_summary_of_one(run: Run) -> None:
    one = msgspec.structs.replace(run, records=run.records[:1])
    assert summarise(one, 1.0).startswith("1 operator, 1 record (1 ok), in 1.0 s")


def test_summary_of_nothing(run: Run) -> None:
    header = msgspec.structs.replace(run.header, no_benchmark={})
    empty = msgspec.structs.replace(run, header=header, records=())
    assert summarise(empty, 0.5) == "0 operators, 0 records, in 0.5 s"
