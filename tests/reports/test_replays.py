"""The operators of replays in reports."""

from __future__ import annotations

import msgspec

from opperf.model import Case, Part, Record, Status, TraceTarget
from opperf.reports.replays import report_of
from opperf.reports.text import write_text

CASE = Case(TraceTarget("torch", "folder/job.json", "ab12", steps="3"), {})

PARTS = (
    Part("aten.mm", 3, 3, time_ns=6e6, recorded_ns=3e6, made_recorded_ns=3e6),
    Part("aten.add", 4, 1, 2e6, recorded_ns=9e6, made_recorded_ns=1e6, reason="no kernel"),
)


def report(*parts):
    record = Record(case=CASE, id=CASE.id, status=Status.OK, parts=parts)
    return report_of([record, msgspec.structs.replace(record, parts=())])


def test_operators_have_their_times_beside_the_recorded_ones():
    text = write_text(report(*PARTS), 100)
    assert "Operators of job step 3, in an iteration" in text
    (line,) = (line for line in text.splitlines() if line.startswith("aten.mm"))
    assert line.split() == ["aten.mm", "3", "3", "6.000", "75.0", "%", "3.000", "2.00"]
    assert "33.3% of the time of all its calls" in " ".join(text.split())
    assert "Not replayed" in text and "no kernel" in text


def test_without_recorded_times_there_is_no_ratio():
    plain = Part("aten.mm", 1, 1, time_ns=5.0)
    text = write_text(report(plain), 100)
    assert "Ratio" not in text and "Not replayed" not in text


def test_programs_have_all_of_it():
    made = report(*PARTS)
    (values,) = made.data["replays"]
    assert values["operators"] == PARTS and len(made.rows) == 2
    assert dict(zip(made.header, made.rows[1], strict=True))["reason"] == "no kernel"
