"""Results as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from opperf.model import OperatorTarget, Part, Record, Run, Status, Summary
from opperf.reports.writing import write
from opperf.results.columns import csv_text
from opperf.results.figures import CaseFigures
from opperf.results.opperf_json import (
    figures_of,
    json_text,
    meanings,
    result_of,
    results_by_operator,
    source_of,
)

MakeRecord = Callable[..., Record]


def test_json_keeps_every_configuration_sorted_by_operator(run: Run) -> None:
    results = results_by_operator(run.records)
    assert list(results) == ["abs", "relu"]
    assert [result["inputs"] for result in results["relu"]] == [
        {"data": [1024, 1024]},
        {"data": [8]},
    ]
    assert results["relu"][0] == {
        "inputs": {"data": [1024, 1024]},
        "max_storage_mem_alloc_cpu/0": 4194.304,
        "avg_time_forward_relu": 2.2,
        "avg_time_backward_relu": 3.3,
        "p50_time_forward_relu": 2.0,
        "p50_time_backward_relu": 3.0,
    }


def test_what_was_not_measured_has_no_key(run: Run) -> None:
    assert results_by_operator(run.records)["relu"][1] == {
        "inputs": {"data": [8]},
        "avg_time_forward_relu": 0.00165,
        "p50_time_forward_relu": 0.0015,
    }


def test_json_of_no_result(tmp_path: Path, run: Run) -> None:
    write(msgspec.structs.replace(run, records=()), tmp_path / "out.json", "json")
    assert json.loads((tmp_path / "out.json").read_text()) == {}


def test_python_profiler_has_percentiles(make_record: MakeRecord) -> None:
    result = result_of(make_record("relu", profiler="python"))
    assert result["avg_time_relu"] == 5.5
    assert result["p50_time_relu"] == 5.0
    assert result["p90_time_relu"] == 7.5
    assert result["p99_time_relu"] == 9.5
    assert result["p90_time_forward_relu"] == 3.0
    assert result["p90_time_backward_relu"] == 4.5
    forward_only = {"forward": make_record().summaries["forward"]}
    result = result_of(make_record("relu", profiler="python", summaries=forward_only))
    assert not any("backward" in key for key in result)


def test_a_callers_own_inputs_are_shown(make_record: MakeRecord) -> None:
    assert result_of(make_record(), {"lhs": (2, 2)})["inputs"] == {"lhs": (2, 2)}


def test_a_replay_has_its_operators(make_record: MakeRecord) -> None:
    parts = (Part("aten.mm", 2, 1, 5.0, 7.0, reason="no kernel"),)
    record = msgspec.structs.replace(of_torch(make_record()), parts=parts)
    (part,) = result_of(record)["parts"]
    assert part == {
        **{"name": "aten.mm", "calls": 2, "made": 1, "time_ns": 5.0, "recorded_ns": 7.0},
        "reason": "no kernel",
    }
    assert "nanoseconds" in meanings([record])["parts"]
    assert "parts" not in meanings([make_record()]) and "parts" not in result_of(make_record())


def test_times_keep_a_nanosecond(make_record: MakeRecord) -> None:
    forward: Summary = make_record().summaries["forward"]
    record = make_record(summaries={"forward": msgspec.structs.replace(forward, mean=1234567.4)})
    assert result_of(record)["avg_time_forward_relu"] == 1.234567


def test_statuses_other_than_ok_are_in_no_json(make_record: MakeRecord) -> None:
    records: list[Any] = [
        make_record(status=status, reason="r") for status in Status if status is not Status.OK
    ]
    assert results_by_operator(records) == {}


def test_the_json_has_a_line_for_each_result(run: Run) -> None:
    text = json_text(run)
    assert text.splitlines()[:3] == [
        "{",
        '    "abs": [',
        '        {"inputs": {"data": [64], "axis": null}, "max_storage_mem_alloc_cpu/0": 4194.304, '
        '"avg_time_forward_abs": 2.2, "avg_time_backward_abs": 3.3, '
        '"p50_time_forward_abs": 2.0, "p50_time_backward_abs": 3.0}',
    ]
    assert len(text.splitlines()) == 9 and text.endswith("\n    ]\n}\n")


def test_a_result_has_the_values_of_swept_variables(make_point: MakeRecord) -> None:
    result = result_of(make_point(n=128, m=2))
    assert result["sweep"] == {"n": 128, "m": 2}
    assert "sweep" not in result_of(make_point(n=128), inputs={"data": (16, 128)})


def of_torch(record: Record) -> Record:
    """The same record, of another framework than MXNet."""
    target = OperatorTarget("torch", record.case.label)
    return msgspec.structs.replace(record, case=msgspec.structs.replace(record.case, target=target))


def test_other_frameworks_have_the_names_of_csv(make_record: MakeRecord, run: Run) -> None:
    records = [of_torch(record) for record in run.records]
    found = results_by_operator(records)
    first = found["relu"][0]
    assert first == {
        "inputs": {"data": [1024, 1024]},
        **{
            f"{name}_{statistic}_ms": round(ms * factor, 6)
            for name, ms in (("forward", 2.0), ("backward", 3.0), ("total", 5.0))
            for statistic, factor in (("mean", 1.1), ("median", 1.0), ("p90", 1.5), ("p99", 1.9))
        },
        "memory_kB": 4194.304,
    }
    text = csv_text(msgspec.structs.replace(run, records=tuple(records)))
    assert set(first) <= set(text.splitlines()[0].split(","))


def test_what_keys_mean_is_of_the_frameworks_of_the_run(make_record: MakeRecord) -> None:
    own, other = make_record(), of_torch(make_record())
    assert set(meanings([other])) == set(result_of(other)) - {"inputs"}
    assert meanings([other])["forward_median_ms"] == (
        "median of the samples, as tables show it: time of the forward pass, as the profiler of "
        "the record measures it, in ms"
    )
    assert "max_storage_mem_alloc_*" in meanings([own])
    assert set(meanings([own, other])) == {*meanings([own]), *meanings([other])}


def test_every_key_is_read_as_what_it_was_written_from(make_record: MakeRecord) -> None:
    for profiler in ("native", "python"):
        record = make_record("forward_x", profiler=profiler)
        for one in (record, of_torch(record)):
            for key, value in figures_of(one).items():
                metric, statistic = source_of(key, "forward_x")
                found = CaseFigures(one).statistic(metric.name, statistic, is_rounded=True)
                assert value == found, key
    assert source_of("inputs", "relu") is source_of("settings", "relu") is None
