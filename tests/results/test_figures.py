"""Names of cases, and figures in the units of results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from opperf.instruments.times import FORWARD
from opperf.model import Note, NoteCode, OperatorTarget, Record, Run, Settings, Status, TensorSpec
from opperf.results.figures import (
    LONGEST,
    CaseFigures,
    Measurement,
    case_figures,
    case_name,
    distinct_names,
)
from opperf.results.units import Figure, device_label, sort_by_operator
from tests.verifications import FAILED, verified

MakeRecord = Callable[..., Record]


def test_times_are_milliseconds_to_the_nanosecond(make_record: MakeRecord) -> None:
    forward = msgspec.structs.replace(make_record().summaries["forward"], p90=1_234_567.8)
    found = CaseFigures(make_record(summaries={"forward": forward}))
    assert found.statistic("forward", "p90", is_rounded=True) == 1.234568


def test_memory_is_kilobytes_to_the_byte(make_record: MakeRecord) -> None:
    memory = msgspec.structs.replace(make_record().summaries["memory"], median=1_234_567.0)
    record = make_record(summaries={"memory": memory})
    assert CaseFigures(record).statistic("memory", "median", is_rounded=True) == 1234.567


def test_what_was_not_measured(make_record: MakeRecord) -> None:
    found = CaseFigures(make_record(summaries={}))
    assert found.of("forward") is found.statistic("forward", "median") is None


def test_device_labels() -> None:
    assert [device_label(d) for d in ("cpu(0)", "gpu(2)", "cuda:1")] == ["cpu/0", "gpu/2", "cuda:1"]


def test_records_of_one_operator_keep_their_order(make_record: MakeRecord) -> None:
    records = [make_record(name, shape=(n,)) for name, n in (("b", 9), ("a", 7), ("b", 3))]
    assert sort_by_operator(records) == [records[1], records[0], records[2]]


def names(*records: Record) -> list[str]:
    named = distinct_names({record.id: case_name(record.case) for record in records})
    return [str(named[record.id]) for record in records]


def changed(record: Record, **fields: Any) -> Record:
    case = msgspec.structs.replace(record.case, **fields)
    return msgspec.structs.replace(record, case=case, id=case.id)


def test_a_name_has_inputs_framework_and_changed_settings(make_record: MakeRecord) -> None:
    usual, mask = make_record(), make_record("abs", mask=TensorSpec((2,), "int8"))
    trained = changed(usual, settings=Settings(phase="train", device="gpu(1)", runs=7, seed=3))
    assert names(usual, mask, trained) == [
        "relu[data: (1024, 1024); mxnet]",
        "abs[data: (1024, 1024), mask: (2,) int8; mxnet]",
        "relu[data: (1024, 1024); mxnet; gpu(1), phase train]",
    ]
    assert str(case_name(usual.case).of_metric("forward")) == (
        "relu.forward[data: (1024, 1024); mxnet]"
    )


def test_an_id_tells_cases_of_one_name_apart(make_record: MakeRecord) -> None:
    usual = make_record()
    other = changed(usual, target=OperatorTarget("mxnet", "relu", namespace="np"))
    assert names(usual, other) == [
        f"relu[data: (1024, 1024); mxnet; {record.id}]" for record in (usual, other)
    ]


def of_length(make_record: MakeRecord, length: int, ending: str = "") -> Record:
    """A record whose name takes so many characters."""
    rest = len("relu[data: (1024, 1024), text: ; mxnet]")
    return make_record(text="x" * (length - rest - len(ending)) + ending)


def test_the_length_of_a_name_is_limited(make_record: MakeRecord) -> None:
    fits, too_long = of_length(make_record, LONGEST), of_length(make_record, LONGEST + 1)
    ((name,), (cut,)) = names(fits), names(too_long)
    assert len(name) == len(cut) == LONGEST
    assert name.endswith("xxx; mxnet]") and cut.endswith(f"xxx; {too_long.id}]")
    alike = names(*(of_length(make_record, 1000, ending) for ending in "ab"))
    assert len(set(alike)) == 2 and {len(name) for name in alike} == {LONGEST}


def test_a_view_of_a_record_has_its_figures_with_their_notes(make_record: MakeRecord) -> None:
    record = msgspec.structs.replace(
        make_record(),
        samples={"forward": [1e6, 2e6, 3e6]},
        notes=(Note("forward", NoteCode.BUSY, "waits\nhere"), Note("memory", "unsteady", "2 or 3")),
    )
    found = CaseFigures(record).measured
    forward, memory = found["forward"], found["memory"]
    assert (forward.unit, forward.median, forward.samples) == ("ns", 2e6, [1e6, 2e6, 3e6])
    assert forward.interval == (1.9e6, 2.1e6) and forward.half_width == pytest.approx(1e5)
    assert forward.error == pytest.approx(math.log1p(0.05) / 1.96, rel=1e-4)
    assert (forward.caveat, forward.unsound, forward.unreliable) == ("waits here", "", True)
    assert forward.shown == Figure(2e6, forward.half_width, True)
    assert (memory.caveat, memory.unsound) == ("2 or 3", "the counts of the same call differ")
    assert not found["backward"].unreliable and found["backward"].is_ranked


def test_a_wrong_result_has_figures_that_are_not_compared(make_record: MakeRecord) -> None:
    wrong = CaseFigures(verified(make_record(), FAILED))
    assert wrong.compared == {} and set(wrong.measured) == set(make_record().summaries)
    assert wrong.record.ended == "wrong" and wrong.record.is_failed
    assert wrong.record.why_without_figures.startswith("wrong result: ")
    failed = make_record(status=Status.CRASHED, reason="signal 11")
    assert CaseFigures(failed).compared == CaseFigures(failed).absent == {}
    assert (failed.ended, failed.why_without_figures) == ("crashed", "crashed: signal 11")


def test_an_average_has_no_interval() -> None:
    average = Measurement.of_average(FORWARD, 3e6)
    assert (average.median, average.summary.mean, average.samples) == (3e6, 3e6, [])
    assert average.interval is average.half_width is average.error is None


def test_figures_of_a_run_have_their_environment(run: Run, make_record: MakeRecord) -> None:
    id = next(iter(run.environments))
    own = msgspec.structs.replace(make_record(), environment=id)
    found = case_figures(msgspec.structs.replace(run, records=(own, make_record())))
    assert [figures.environment for figures in found] == [run.environments[id], None]
