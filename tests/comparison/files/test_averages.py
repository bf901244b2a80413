"""Results as users of operator benchmarks know them."""

import json

import pytest

from opperf.comparison.files.averages import entries_of_results
from opperf.comparison.files.judging import Question, compare
from opperf.comparison.files.reading import read
from opperf.errors import RunFileError


def test_results_as_other_versions_write_them(tmp_path, run, record, saved):
    path = tmp_path / "old.json"
    result = {
        "avg_time_forward_relu": 2.0,
        "inputs": {"data": [4, 4]},
        "max_storage_mem_alloc_cpu/0": 3.0,
        "max_storage_mem_alloc_gpu/0": 5.0,
        "p50_time_relu": 1.0,
        "avg_time_relu": 6.0,
    }
    path.write_text(json.dumps({"relu": [result]}))
    (entry,) = read(path).entries
    assert {metric: (f.unit, f.mean) for metric, f in entry.figures.items()} == {
        "forward": ("ns", 2e6),
        "total": ("ns", 6e6),
        "memory": ("B", 5e3),
    }
    found = compare(read(path), read(saved(run(record()), "new.jsonl")), Question())
    assert found.metrics == ("forward", "memory")


def entries(tmp_path, results, **ids):
    return entries_of_results(tmp_path / "old.json", results, lambda name, inputs: name, ids)


def test_a_result_has_the_id_beside_it_if_each_has_one(tmp_path):
    results = {"relu": [{}, {}], "exp": [{}]}
    found = entries(tmp_path, results, relu=["1a", "2b"], exp=["3c", "4d"])
    assert [one.selector for one in found] == ["1a", "2b", ""]


def test_an_average_is_the_median_as_well(tmp_path):
    (entry,) = entries(tmp_path, {"relu": [{"avg_time_backward_relu": 3}]})
    figure = entry.figures["backward"]
    assert (figure.unit, figure.median, figure.mean, figure.samples) == ("ns", 3e6, 3e6, [])
    assert not figure.unsound and not figure.caveat


def test_results_of_other_frameworks_than_mxnet(tmp_path):
    result = {"forward_mean_ms": 2.0, "forward_median_ms": 1.0, "memory_kB": 3.0, "total_p99_ms": 9}
    (entry,) = entries(tmp_path, {"mm": [result]})
    found = {metric: (one.unit, one.mean) for metric, one in entry.figures.items()}
    assert found == {"forward": ("ns", 2e6), "memory": ("B", 3e3)}


@pytest.mark.parametrize("peaks", [(3.0, 5.0), (5.0, 3.0)])
def test_of_several_devices_the_largest_peak_counts(tmp_path, peaks):
    devices = ("cpu/0", "gpu/0")
    result = {f"max_storage_mem_alloc_{d}": p for d, p in zip(devices, peaks, strict=True)}
    (entry,) = entries(tmp_path, {"relu": [result]})
    assert entry.figures["memory"].mean == 5e3


def test_what_is_no_average_or_no_number_is_no_figure(tmp_path):
    result = {"avg_time_forward_x": "none", "avg_time_backward_x": 2.0, "name": "x", "runs": 5}
    (entry,) = entries(tmp_path, {"x": [result]})
    assert set(entry.figures) == {"backward"}


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"lhs": [2, 3], "axis": 1}, "lhs: (2, 3), axis: 1"),
        ([4, 4], "inputs: (4, 4)"),
        ("a word", "inputs: a word"),
        ({}, ""),
    ],
)
def test_inputs_are_shown_whatever_they_are(tmp_path, inputs, text):
    (entry,) = entries(tmp_path, {"relu": [{"inputs": inputs}]})
    assert (entry.operator, entry.inputs) == ("relu", text)


def test_every_result_of_every_operator_is_an_entry(tmp_path):
    found = entries(tmp_path, {"relu": [{}, {}], "none": [], "exp": [{}]})
    assert [entry.operator for entry in found] == ["relu", "relu", "exp"]


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([], "the JSON is not an object"),
        ({"relu": [{}, 3]}, "'relu' has no list of results"),
        ({"relu": {}}, "'relu' has no list of results"),
        ({"relu": []}, "has no results"),
    ],
)
def test_anything_else_is_refused(tmp_path, results, words):
    with pytest.raises(RunFileError, match=words):
        entries(tmp_path, results)
