"""JSON lines of PyTorch/XLA's benchmarks: read, older ones too, and written."""

import json

import pytest
from msgspec.structs import replace

from opperf.errors import RunFileError
from opperf.formats.model_files import XLA, read_file, read_records
from opperf.formats.xla import line_of, read_lines, record_of
from tests.experiments.lines import record, value, write


def test_a_line_is_written_as_it_was_read_with_keys_that_have_no_field():
    line = value(keep_model_data_on_cuda=False, outputs_file="out.pt")
    line |= {"verification_code": "PASS", "new": {"a": 1}}
    written = json.loads(line_of(record_of(line, "")))
    assert written == {**line, "outputs_file": "out.pt"}
    assert line_of(record_of(written, "")) == line_of(record_of(line, ""))


def test_usual_records_are_read_fast_and_the_same():
    for line in (
        value(),
        value(backend="eager", outputs_file="f", xla_flags=["--a"]),
        value(at=0.5),
    ):
        ((read, _),) = read_lines("f", [json.dumps(line).encode()])
        assert read == record_of(line, "f:1")
        # Of an unknown key, which it keeps, the values that it knows are the same.
        ((other, _),) = read_lines("f", [json.dumps({**line, "new": 1}).encode()])
        assert replace(other, others={}) == read


def test_older_records_have_other_keys_and_lack_some():
    line = value(experiment_name="run_all")
    del line["experiment"]["torch_xla2"], line["timestamp"], line["repeat"]
    line["outputs_file"] = "old.pt"
    line["metrics"]["verification_mean_rel_error"] = 0.25
    found = record_of(line, "")
    assert (found.torch_xla2, found.timestamp, found.repeat) == (None, None, None)
    assert (found.outputs_file, found.verification_mean_rel_error) == ("old.pt", 0.25)
    assert found.others == {"experiment": {"experiment_name": "run_all"}}


def test_lines_that_are_cut_off_cost_themselves_alone(tmp_path):
    whole = json.dumps(value("a"))
    path = tmp_path / "torn.jsonl"
    # A crash in the middle of a record, and another run after it; NaN is Python's.
    other = json.dumps(value("b", metrics={"total_time": [1.0], "loss": float("nan")}))
    path.write_text(f"{whole}\n{whole[:50]}{other}\n\n{whole[:70]}")
    warnings = []
    found = read_file(path, XLA, warnings)
    assert [one.model_name for one in found] == ["a", "b"]
    assert [text.partition(" ")[0] for text in warnings] == [f"{path}:2:", f"{path}:4:"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": {}}, "f:1: the record has no model.model_name"),
        ({"metrics": None}, "f:1: this is no record of PyTorch/XLA's benchmarks: it has no object"),
        ({"timestamp": "now"}, 'f:1: timestamp is "now", and not a number'),
        ({"timestamp": 1e300}, "f:1: timestamp is 1e\\+300, and not a number"),
        ({"repeat": True}, "f:1: repeat is true, and not an integer"),
        (
            {"metrics": {"total_time": [1.0, -2.0]}},
            "f:1: metrics.total_time has -2.0, and no time is below zero",
        ),
    ],
)
def test_what_is_no_record_is_an_error_with_its_line(change, message):
    line = json.dumps({**value(), **change}).encode()
    with pytest.raises(RunFileError, match=message):
        list(read_lines("f", [line]))


def test_a_key_that_stands_twice_is_an_error_with_its_line():
    line = json.dumps(value()).replace('"repeat":', '"repeat": 1, "repeat":', 1).encode()
    with pytest.raises(RunFileError, match="f:1: the key 'repeat' is there twice"):
        list(read_lines("f", [line]))


def test_a_file_of_no_records_is_refused(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text("some\nnotes\n")
    with pytest.raises(RunFileError, match="has no record: neither"):
        read_records([path], [])
    with pytest.raises(RunFileError, match="cannot be read: No such file"):
        read_records([tmp_path / "missing.jsonl"], [])
    reports = write(tmp_path / "report.jsonl", {"metrics": {}, "dimensions": {}})
    with pytest.raises(RunFileError, match="no object model, experiment; its keys are metrics, d"):
        read_records([reports], [])


def test_a_record_without_a_time_has_that_of_its_file_or_of_the_option(tmp_path):
    line = value()
    del line["timestamp"]
    path = write(tmp_path / "old.jsonl", line, value("b", at=5))
    warnings = []
    found = read_records([path], warnings)
    assert [one.timestamp for one in found] == [int(path.stat().st_mtime), 5]
    assert "1 of 2 records without a timestamp" in warnings[0]
    assert [one.timestamp for one in read_records([path], [], 7.0)] == [7.0, 5]


def test_an_error_is_that_of_the_metrics():
    assert record(metrics={"error": "out of memory"}).error == "out of memory"
    assert record().error is None


@pytest.mark.parametrize("time", [1e308, 1e-308, 10**200])
def test_a_time_whose_square_is_no_number_is_refused(time):
    line = json.dumps(value(metrics={"total_time": [1.0, time]})).encode()
    with pytest.raises(RunFileError, match="f:1: metrics.total_time has 1.*, and no time takes so"):
        list(read_lines("f", [line]))


def test_lines_that_are_no_text_cost_themselves_alone(tmp_path):
    path = tmp_path / "torn.jsonl"
    whole = json.dumps(value("a")).encode()
    path.write_bytes(whole + b"\n" + whole.replace(b'"a"', b'"\xff"') + b"\n")
    warnings = []
    assert [one.model_name for one in read_file(path, XLA, warnings)] == ["a"]
    assert warnings == [f"{path}:2: the line is cut off or no JSON, and omitted"]
