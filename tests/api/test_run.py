"""`opperf.run` and `opperf.read`, as a program calls them."""

import sys
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

import opperf
from opperf.errors import OutputError, UsageError
from opperf.requests import running
from opperf.requests.ab import resolving
from opperf.requests.replays import Replay, WrittenTraces

BRIEF = {"framework": "numpy", "size": "small", "max_time": 0.01}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "made.jsonl"
    found = opperf.run(
        "negative", dtype=["float32", "float64"], max_configs=1, output=path, **BRIEF
    )
    return path, found


def test_a_run_has_a_record_of_each_case_and_a_row_of_each_metric(made):
    _, run = made
    assert [record.case.settings.dtype for record in run.records] == ["float32", "float64"]
    assert {(row.operator, row.metric, row.unit) for row in run.rows} >= {
        ("negative", "forward", "ns"),
        ("negative", "memory", "B"),
    }
    first = next(row for row in run.rows if row.metric == "forward")
    assert first.low <= first.value <= first.high
    assert not run.failed and list(run.environments) == [run.records[0].environment]
    assert "float64" in str(run) and "1 operator, 2 records" in str(run)


def test_the_output_is_the_run_file_which_is_read_again(made):
    path, run = made
    again = opperf.read(path)
    assert (again.rows, again.name, str(again)) == (run.rows, str(path), str(run))
    assert opperf.compare(run, path).exit_code == opperf.compare(run, again).exit_code == 0
    command = again.run.header.options["command"]
    assert "--dtype=float32 --dtype=float64" in command and command.endswith("-- negative")
    with pytest.raises(OutputError, match="exists"):
        opperf.run("negative", output=path, **BRIEF)


def test_a_notebook_shows_tables_in_which_names_are_no_markup(made):
    _, run = made
    assert "<table>" in run._repr_html_() and "governor" not in run._repr_html_()
    record = run.records[0]
    odd = msgspec.structs.replace(record.case, name="<script>")
    records = (msgspec.structs.replace(record, case=odd),)
    shown = type(run)(msgspec.structs.replace(run.run, records=records), "odd")._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown
    assert "<table>" in opperf.compare(run, run)._repr_html_()


def test_rows_as_a_data_frame(made, monkeypatch):
    _, run = made
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    frame = run.to_pandas()
    assert {row["dtype"] for row in frame} == {"float32", "float64"}
    assert opperf.compare(run, run).to_pandas()[0]["operator"] == "negative"
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_pandas needs pandas: pip install pandas"):
        run.to_pandas()


def test_it_is_written_in_the_formats_of_the_command(made, tmp_path):
    _, run = made
    run.save(tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text() == run.report("md")
    with pytest.raises(UsageError, match=r"page\.odd: no format has this extension"):
        run.save(tmp_path / "page.odd")


def test_options_are_those_of_the_command():
    run = opperf.run(
        "matmul",
        shape={"x1": ("n", 8), "x2": (8, 8)},
        sweep={"n": [4, 8]},
        no_memory=True,
        max_configs=1,
        **BRIEF,
    )
    assert [record.case.point for record in run.records] == [{"n": 4}, {"n": 8}]
    assert "memory" not in {row.metric for row in run.rows}


def test_what_the_command_does_beside_measuring_is_done_here_too(monkeypatch):
    done = []
    traces = WrittenTraces(Path("x.json"), None)

    def add(asked, operators, *_, **__):
        return msgspec.structs.replace(operators, names=(asked.changed_since,))

    monkeypatch.setattr("opperf.requests.run.add_changed", add)
    monkeypatch.setattr(Replay, "written", lambda *_: traces)
    monkeypatch.setattr(running, "write_traces", lambda *given: done.append(given[-1]) or ["one"])
    monkeypatch.setattr(running, "compile_ahead", lambda *_: done.append("compiled"))
    run = opperf.run(changed_since="negative", max_configs=1, **BRIEF)
    assert [record.case.label for record in run.records] == ["negative"]
    assert done == ["compiled", traces]
    opperf.run(changed_since="negative", max_configs=1, compile_ahead=False, **BRIEF)
    assert done == ["compiled", traces, traces]
    monkeypatch.setattr("opperf.requests.run.add_changed", lambda *_, **__: None)
    monkeypatch.setattr(resolving, "add_changed", lambda *_, **__: None)
    for function in (opperf.run, opperf.ab):
        with pytest.raises(UsageError, match="no operator changed since"):
            function(changed_since="HEAD", **({"size": "small"}))


def test_a_case_that_fails_has_a_row_with_the_reason(tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(
        "def broken(x):\n    raise ValueError('no luck')\n"
        "def inputs():\n    return [{'x': (2, 2)}]\n"
    )
    run = opperf.run(f"{file}:broken", inputs=f"{file}:inputs", framework="numpy")
    (row,) = run.rows
    assert (row.metric, row.value, row.status) == ("", None, "failed")
    assert "no luck" in row.reason
    assert run.failed == run.records


@pytest.mark.parametrize(
    ("what", "options", "words"),
    [
        ("add", {"dtyp": "float32"}, "unknown option 'dtyp'; did you mean dtype"),
        ("add", {"resume": "x.jsonl"}, "unknown option 'resume'"),
        ("add", {"size": "huge"}, "size: 'huge' is not one of"),
        ("add", {"no_backward": 1}, "no_backward is True or False, not 1"),
        ("add", {"output": "x.csv"}, "the output is a run file"),
        (3, {}, "3 is neither the name of an operator, nor a file, nor a function"),
    ],
)
def test_what_is_refused(what, options, words):
    with pytest.raises(UsageError, match=words):
        opperf.run(what, **{**BRIEF, **options})
