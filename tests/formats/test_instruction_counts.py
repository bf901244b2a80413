"""Results as PyTorch's suite of instruction counts writes them."""

import json
import math
from pathlib import Path

import pytest

from opperf.errors import OpperfError
from opperf.formats.figures import Given
from opperf.formats.forms import read_results
from opperf.formats.instruction_counts import LOST, instruction_counts, instruction_counts_text
from opperf.model import (
    SCHEMA_VERSION,
    Case,
    Closing,
    Header,
    OperatorTarget,
    Record,
    Run,
    Settings,
    Status,
    TensorSpec,
)
from opperf.repository import Commit
from tests.results.conftest import summary

DOCS = Path(__file__).parents[2] / "docs"

COUNTED = Settings(profiler="instructions")

NAME = "relu[self: (2, 3); torch; profiler instructions]"


def a_case(shape, settings=COUNTED):
    return Case(OperatorTarget("torch", "relu"), {"self": TensorSpec(shape)}, settings)


def a_record(case, **samples):
    return Record(
        case=case,
        id=case.id,
        status=Status.OK,
        summaries={name: summary(values[0]) for name, values in samples.items()},
        samples=samples,
    )


def a_run(*records, closing=True):
    return Run(
        Header(schema=SCHEMA_VERSION, started="2026-01-02T03:04:05+00:00", options={}),
        records,
        Closing("2026-01-02T03:05:05+00:00", 60.0, {}) if closing else None,
        {},
        tuple(record.case for record in records),
    )


def test_every_repeat_of_a_pass_is_kept():
    found = instruction_counts(
        a_run(
            a_record(
                a_case((2, 3)),
                instructions=[100.0, 101.0],
                instructions_backward=[200.0],
                instructions_empty=[50.0],
            )
        )
    )
    assert found["version"] == 0 and found["end_time"] - found["start_time"] == 60
    assert found["start_time"] == 1767323045
    assert found["values"] == {
        "relu[self: (2, 3); torch; profiler instructions] forward": {
            "times": [],
            "counts": [100.0, 101.0],
        },
        f"{NAME} backward": {"times": [], "counts": [200.0]},
    }


def test_times_are_seconds():
    case = a_case((4,), Settings())
    found = instruction_counts(a_run(a_record(case, forward=[1500.0, math.nan])))
    assert found["values"] == {"relu[self: (4,); torch] forward": {"times": [1.5e-6], "counts": []}}


def test_what_was_written_is_read_again_but_for_what_is_lost(tmp_path):
    counts = {"instructions": [100.0, 101.0], "instructions_backward": [200.0]}
    case = a_case((4,), Settings())
    times = a_record(case, forward=[1500.0, 1600.0], memory=[8.0])
    failed = Record(case=case, id="x", status=Status.FAILED, reason="no")
    path = tmp_path / "counts.json"
    path.write_text(
        instruction_counts_text(a_run(a_record(a_case((2, 3)), **counts), times, failed))
    )
    with pytest.raises(OpperfError, match="name it with --commit"):
        read_results(path, "", Given())
    (run,) = read_results(path, "", Given(Commit("a" * 40))).submissions
    assert run.started == 1767323045
    found = {(one.facts.name, one.key.metric): one for one in run.entries}
    assert {key: one.point.samples or one.point.median for key, one in found.items()} == {
        (NAME, "instructions"): (100.0, 101.0),
        (NAME, "instructions_backward"): 200.0,
        ("relu[self: (4,); torch]", "forward"): pytest.approx((1500.0, 1600.0)),
    }
    page = " ".join((DOCS / "history.md").read_text().split())
    assert f"which loses {', '.join(LOST[:-1])} and {LOST[-1]} of a run" in page
    foreign = {"version": 0, "md5": "", "values": {"('add',)": {"times": [2e-6], "counts": [9]}}}
    path.write_text(json.dumps(foreign))
    (run,) = read_results(path, "", Given(Commit("a" * 40))).submissions
    assert [one.key.metric for one in run.entries] == ["time", "instructions"]
    assert run.entries[0].facts.name == "('add',)"


def test_equal_sums_are_of_equal_cases():
    one, other = (a_record(a_case(shape), instructions=[1.0]) for shape in ((1,), (2,)))
    sums = [instruction_counts(a_run(*run))["md5"] for run in ((one, other), (other, one), (one,))]
    assert sums[0] == sums[1] != sums[2]


def test_a_run_that_did_not_end_and_a_case_that_failed():
    case = a_case((1,))
    failed = Record(case=case, id=case.id, status=Status.FAILED, reason="no")
    text = instruction_counts_text(a_run(failed, closing=False))
    assert json.loads(text)["values"] == {} and json.loads(text)["end_time"] is None
