"""Two kinds of files in one form."""

import json
import math

import msgspec
import pytest

from opperf.comparison.files.judging import Question, compare
from opperf.comparison.files.reading import entries_of_results, entry_of, read, shown_key
from opperf.errors import RunFileError
from opperf.model import Status


def test_the_environment_beside_results_is_read(run, record, asked):
    base, new = run(record()), run(record(), cores=4)
    found = asked(base, new, ("json", "json"))
    assert list(found.differences) == [("cores", 2, 4)]


def test_kernel_is_the_forward_time_of_the_native_profiler(run, record, asked):
    native = run(record("relu"), record("exp", profiler="python"))
    found = asked(native, native, metrics=("kernel", "forward"))
    assert found.metrics == ("forward", "kernel")
    assert [row.operator for row in found.rows_of("kernel")] == ["relu"]
    python = run(record(profiler="python"))
    with pytest.raises(RunFileError, match="the metric kernel; available: forward, backward, mem"):
        asked(python, python, metrics=("kernel",))


def test_a_record_has_its_figures_and_the_reasons_for_those_it_lacks(record):
    entry = entry_of(
        record(backward=False, notes=[("backward", "no_gradient", "has no\ngradient")])
    )
    assert set(entry.figures) == {"forward", "memory", "kernel"}
    assert entry.absent == {"backward": "has no gradient"} and entry.reason == ""
    silent = entry_of(record(backward=False, memory=None))
    assert silent.absent == {"backward": "not measured", "memory": "not measured"}


def test_memory_that_was_not_asked_for_is_not_absent(record):
    one = record(memory=None)
    settings = msgspec.structs.replace(one.case.settings, memory=False)
    case = msgspec.structs.replace(one.case, settings=settings)
    assert entry_of(msgspec.structs.replace(one, case=case)).absent == {}


def test_a_record_that_failed_has_a_reason_and_no_figures(record):
    failed = msgspec.structs.replace(record(), status=Status.FAILED, reason="no\nmemory")
    entry = entry_of(failed)
    assert (entry.figures, entry.absent, entry.reason) == ({}, {}, "failed: no memory")


def test_kernel_times_are_those_of_the_native_profiler(record):
    native = entry_of(record()).figures
    assert native["kernel"] == native["forward"]
    assert "kernel" not in entry_of(record(profiler="python")).figures
    one = record()
    backward = msgspec.structs.replace(one, summaries={"backward": one.summaries["backward"]})
    assert set(entry_of(backward).figures) == {"backward"}


WORKSPACE = "a figure may include other operators' workspace"
DIFFER = "the counts of the same call differ"


@pytest.mark.parametrize(
    ("notes", "metric", "unsound", "caveat"),
    [
        ([], "memory", "", ""),
        ([("memory", "not_pristine", "shared\nby all")], "memory", WORKSPACE, "shared by all"),
        (
            [("memory", "unsteady", "2 or 3")],
            "memory",
            "the counts of the same call differ",
            "2 or 3",
        ),
        ([("memory", "not_pristine", "shared")], "forward", "", ""),
        ([("forward", "drift", "busy")], "forward", "", "busy"),
        ([("forward", "dispatch", "short")], "forward", "", ""),
        (
            [("memory", "imprecise", "busy"), ("memory", "not_pristine", "shared")],
            "memory",
            WORKSPACE,
            "shared; busy",
        ),
    ],
)
def test_what_is_noted_of_a_figure_goes_with_it(record, notes, metric, unsound, caveat):
    figure = entry_of(record(notes=notes)).figures[metric]
    assert (figure.unsound, figure.caveat) == (unsound, caveat)
    assert figure.unreliable is ((metric, "drift", "busy") in notes)


def test_a_call_is_one_however_it_is_run(record):
    one, other = entry_of(record(threads=1, dtype="float16")), entry_of(record(threads=4))
    assert one.id != other.id and one.call == other.call
    assert one.call != entry_of(record(shape=(2,))).call


def test_results_show_inputs_in_any_order():
    assert shown_key("dot", {"a": 1, "b": (2, 3)}) == shown_key("dot", {"b": [2, 3], "a": 1})
    assert shown_key("dot", {"a": 1}) != shown_key("add", {"a": 1})


def test_a_run_file_says_how_many_cases_it_has_and_what_was_asked_for(run, record, saved):
    path = saved(run(record("relu"), record("exp"), selection={"size": "small"}), "a.jsonl")
    found = read(path)
    assert (found.side.path, found.side.cases, found.side.averages) == (str(path), 2, False)
    assert found.side.started == "2025-01-02T03:04:05+00:00"
    assert (found.selection, found.warnings) == ({"size": "small"}, ())
    assert read(saved(run(record()), "b.jsonl")).selection == {}


def test_results_say_when_their_run_began_if_that_lies_beside_them(run, record, saved):
    path = saved(run(record("relu"), record("exp")), "a.json")
    found = read(path)
    assert (found.side.cases, found.side.averages, found.selection) == (2, True, {})
    assert found.side.started == "2025-01-02T03:04:05+00:00"
    assert found.environment.framework == "mxnet"


RESULTS = '{"relu": [{"avg_time_forward_relu": 1.0}]}'


@pytest.mark.parametrize(
    "beside",
    [None, "not JSON", "[]", "{}", '{"environment": {}, "started": ""}', '{"environment": 3}'],
)
def test_results_are_read_whatever_lies_beside_them(run, record, saved, beside):
    path = saved(run(record()), "a.json")
    (content,) = [one for one in path.parent.iterdir() if one != path]
    if beside is None:
        content.unlink()
    else:
        content.write_text(beside)
    found = read(path)
    assert (found.environment, found.side.started) == (None, "")
    assert found.entries[0].operator == "relu"


def test_results_on_several_lines_are_results(tmp_path):
    path = tmp_path / "a.json"
    for text in (RESULTS, json.dumps(json.loads(RESULTS), indent=1), "\n" + RESULTS):
        path.write_text(text)
        assert read(path).entries[0].figures["forward"].summary.mean == 1e6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        (" \n", "not an opperf run file"),
        ('{"line":"header","schema', "the header is cut short"),
        ('{"line": "record"}\n', "not an opperf run file"),
        ('{"line": 3}\n', "not results by operator: 'line' has no list"),
        ('["line"]\n', "not results by operator: the JSON is not an object"),
        ("Operator  Time\n", "neither a run file nor results by operator"),
    ],
)
def test_what_a_file_is_not_is_told(tmp_path, text, words):
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(RunFileError) as raised:
        read(path)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("done", "words"), [(3, None), (2, "1 case has no record"), (1, "2 cases have no record")]
)
def test_a_run_that_was_not_finished_says_how_much_is_missing(run, record, saved, done, words):
    records = [record(name) for name in ("a", "b", "c")]
    part = run(*records[:done], planned=records, finished=words is None)
    path = saved(part, "a.jsonl")
    expected = (f"{path}: the run was not finished; {words}",) if words else ()
    assert read(path).warnings == expected


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ((), None),
        (("relu",), "1 figure is not finite: relu forward"),
        (("exp", "relu"), "2 figures are not finite, e.g. exp forward"),
    ],
)
def test_figures_that_are_no_numbers_are_counted(run, record, saved, odd, words):
    records = []
    for name in ("exp", "log", "relu"):
        one = record(name, backward=False, memory=None)
        if name in odd:
            broken = msgspec.structs.replace(one.summaries["forward"], median=math.nan)
            one = msgspec.structs.replace(one, summaries={"forward": broken})
        records.append(one)
    path = saved(run(*records), "a.jsonl")
    assert read(path).warnings == ((f"{path}: {words}",) if words else ())


def test_settings_that_distinguish_cases_of_a_file_are_in_its_rows_and_changes(run, record, asked):
    def in_dtype(dtype):
        one = record()
        case = msgspec.structs.replace(
            one.case, settings=msgspec.structs.replace(one.case.settings, dtype=dtype)
        )
        return msgspec.structs.replace(one, case=case, id=case.id)

    both, single = run(in_dtype("float32"), in_dtype("float16")), run(in_dtype("float32"))
    found = asked(both, single, metrics=("forward",))
    assert [one.settings for one in found.rows] == ["float32"]
    assert [one.settings for one in found.changes] == ["float16"]
    assert [one.settings for one in asked(single, single, metrics=("forward",)).rows] == [""]


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
    assert {metric: (f.unit, f.summary.mean) for metric, f in entry.figures.items()} == {
        "forward": ("ns", 2e6),
        "total": ("ns", 6e6),
        "memory": ("B", 5e3),
    }
    found = compare(read(path), read(saved(run(record()), "new.jsonl")), Question())
    assert found.metrics == ("forward", "memory")


def entries(tmp_path, results, **ids):
    return entries_of_results(tmp_path / "old.json", results, ids)


def test_a_result_has_the_id_beside_it_if_each_has_one(tmp_path):
    results = {"relu": [{}, {}], "exp": [{}]}
    found = entries(tmp_path, results, relu=["1a", "2b"], exp=["3c", "4d"])
    assert [one.selector for one in found] == ["1a", "2b", ""]


def test_an_average_is_the_median_as_well(tmp_path):
    (entry,) = entries(tmp_path, {"relu": [{"avg_time_backward_relu": 3}]})
    figure = entry.figures["backward"]
    assert (figure.unit, figure.median, figure.summary.mean, figure.samples) == ("ns", 3e6, 3e6, [])
    assert not figure.unsound and not figure.caveat


def test_results_of_other_frameworks_than_mxnet(tmp_path):
    result = {"forward_mean_ms": 2.0, "forward_median_ms": 1.0, "memory_kB": 3.0, "total_p99_ms": 9}
    (entry,) = entries(tmp_path, {"mm": [result]})
    found = {metric: (one.unit, one.summary.mean) for metric, one in entry.figures.items()}
    assert found == {"forward": ("ns", 2e6), "memory": ("B", 3e3)}


@pytest.mark.parametrize("peaks", [(3.0, 5.0), (5.0, 3.0)])
def test_of_several_devices_the_largest_peak_counts(tmp_path, peaks):
    devices = ("cpu/0", "gpu/0")
    result = {f"max_storage_mem_alloc_{d}": p for d, p in zip(devices, peaks, strict=True)}
    (entry,) = entries(tmp_path, {"relu": [result]})
    assert entry.figures["memory"].summary.mean == 5e3


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
        ({"x": [{"p50_time_x": -2.0}]}, "x: p50_time_x is -2, which is below zero"),
        (
            {"x": [{"forward_p90_ms": 3.0, "forward_median_ms": 4.0}]},
            "x: forward_median_ms is 4e\\+06, which is above forward_p90_ms, 3e\\+06",
        ),
    ],
)
def test_anything_else_is_refused(tmp_path, results, words):
    with pytest.raises(RunFileError, match=words):
        entries(tmp_path, results)
