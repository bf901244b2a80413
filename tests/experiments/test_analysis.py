"""The metric report: statistics of each record, and the table that it is appended to."""

import csv
import io
from pathlib import Path

import msgspec
import numpy as np
import pytest

from opperf.errors import RunFileError
from opperf.experiments.analysis import (
    COLUMNS,
    columns_of,
    csv_text,
    extended,
    line_of,
    row_of,
    statistics_of,
)
from tests.experiments.lines import MONDAY, record

TIMES = [9.0, 2.0, 3.0, 2.5]


def test_statistics_are_numpys_and_the_last_two_lack_the_first_value():
    made = statistics_of(record(metrics={"total_time": TIMES, "single": 7, "inductor_ops": {}}))
    for name in ("min", "median", "max"):
        assert made[f"{name}_total_time"] == getattr(np, name)(TIMES)
    for name in ("mean", "std"):
        assert made[f"{name}_total_time"] == pytest.approx(getattr(np, name)(TIMES[1:]))
    assert made["max_single"] == 7 and "mean_single" not in made
    assert not any("inductor_ops" in name for name in made)


def test_compile_times_are_of_what_is_on():
    metrics = {"total_time": TIMES, "trace_per_iter_time": [1.0, 2.0]}
    for backend, dynamo, xla, trace in (
        ("eager", -1, -1, -1),
        ("inductor", 6.25, -1, -1),
        ("openxla+dynamo", 6.25, 6.25, 1.5),
        ("openxla+lazytensor", -1, 6.25, 1.5),
    ):
        made = statistics_of(record(backend=backend, metrics=metrics))
        assert (made["dynamo_compile_time"], made["xla_compile_time"]) == (dynamo, xla)
        assert made["median_trace_per_iter_time"] == trace
    assert "dynamo_compile_time" not in statistics_of(record(metrics={"total_time": None}))


def test_fixed_columns_come_first_then_those_of_metrics_as_they_appear():
    rows = [row_of(record(metrics={"total_time": TIMES, "b": [1.0], "a": [1.0]}), 0.0, False)]
    assert len(COLUMNS) == 20
    assert columns_of(rows)[20:] == [
        *(f"{name}_total_time" for name in ("min", "max", "mean", "std")),
        *(f"{name}_{metric}" for metric in "ba" for name in ("min", "median", "max")),
    ]
    (read,) = csv.DictReader(io.StringIO(csv_text(rows, columns_of(rows))))
    assert (read["timestamp"], read["batch_size"], read["xla"]) == (str(MONDAY), "16", "")
    assert read["xla_median_trace_per_iter_time"] == read["error_message"] == ""


def test_a_failure_keeps_its_row_and_its_message_unless_hidden():
    failed = record(metrics={"error": "out of\nmemory"})
    assert row_of(failed, 0.0, False)["error_message"] == "out of\nmemory"
    assert row_of(failed, 0.0, True)["error_message"] is None
    line = line_of(failed, 0.0, False)
    assert line["error_message"] == "out of\nmemory"
    assert line["dimensions"]["run_status"] == "failure"
    assert line["metrics"]["median_total_time"] == line["metrics"]["xla_compile_time"] == -1
    assert "error_message" not in line_of(failed, 0.0, True)


def test_a_wrong_result_is_a_failure_with_no_time():
    wrong = msgspec.structs.replace(record(metrics={"total_time": TIMES}), verification_code="FAIL")
    said = "wrong result: verification FAIL"
    row = row_of(wrong, 0.0, hide_errors=False)
    assert (row["error_message"], row["median_total_time"]) == (said, None)
    line = line_of(wrong, 0.0, hide_errors=False)
    assert line["dimensions"]["run_status"] == "failure" and line["error_message"] == said
    assert line["metrics"]["median_total_time"] == -1


def test_lines_have_numbers_and_dimensions_where_nothing_is_a_word():
    line = line_of(record(batch_size=None, at=5.75), 0.0, False)
    assert list(line) == ["metrics", "dimensions"]
    assert {"timestamp": 5, "batch_size": -1, "repeat": 4}.items() <= line["metrics"].items()
    assert line["dimensions"] == {
        "suite_name": "torchbench",
        "model_name": "bert",
        "accelerator": "Tesla V100",
        "accelerator_model": "Tesla V100",
        "xla": "None",
        "dynamo": "inductor",
        "torch_xla2": "None",
        "test": "eval",
        "outputs_file": "None",
        "run_status": "success",
    }


def test_a_record_without_a_time_has_the_given_one():
    assert row_of(record(at=None), 12.0, False)["timestamp"] == 12.0
    assert line_of(record(at=None), 12.5, False)["metrics"]["timestamp"] == 12


def test_the_database_grows_by_rows_and_by_columns(tmp_path):
    first = [row_of(record(), 0.0, False)]
    old = csv_text(first, columns_of(first))
    same = extended(tmp_path, old, first)
    assert same.startswith(old) and same.count("\n") == 3
    # An older NumPy named its functions amin and amax.
    older = old.replace("min_total", "amin_total").replace("max_total", "amax_total")
    more = [row_of(record(metrics={"total_time": TIMES, "x": [4.0]}), 0.0, False)]
    one, two = csv.DictReader(io.StringIO(extended(tmp_path, older, more)))
    assert (one["min_total_time"], one["max_x"]) == ("2.0", "")
    assert (two["max_total_time"], two["max_x"]) == ("9.0", "4.0")
    assert "amin_total_time" not in one


def test_a_table_of_another_kind_is_not_touched(tmp_path):
    rows = [row_of(record(), 0.0, False)]
    with pytest.raises(RunFileError, match="is no table of metric reports"):
        extended(tmp_path, "a,b\n1,2\n", rows)
    with pytest.raises(RunFileError, match=":2: the row has 4 cells below 3 columns"):
        extended(tmp_path, "timestamp,model_name,old\n1,m,2,3\n", rows)


def test_metrics_beyond_numbers_have_no_statistics():
    made = statistics_of(record(metrics={"total_time": TIMES, "loss": [1e308, 1e308, 10**400]}))
    assert "median_total_time" in made and not any("loss" in name for name in made)
    with pytest.raises(RunFileError, match="x.csv:2: it is no CSV: field larger than"):
        extended(Path("x.csv"), f"timestamp,model_name\n1,{'m' * 200_000}\n", [{"new": 1}])
