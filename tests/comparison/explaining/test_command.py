"""The command `explain`: what it prints and writes, and what it refuses."""

import json

import pytest
from click.testing import CliRunner

from opperf.commands.record import explain
from opperf.comparison.explaining import difference
from opperf.errors import CallgrindError, OutputError, UsageError
from opperf.model import PASSES
from opperf.requests.declaring import declared
from opperf.requests.profiles import ExplainRequest

BASE = {"forward": "ob=a.so\nfn=f\n1 50\nfn=_PyEval_Vector\n1 5", "backward": "fn=f\n1 6"}
NEW = {"forward": "ob=a.so\nfn=f\n1 70\nfn=_PyEval_Vector\n1 9", "backward": "fn=f\n1 9"}


@pytest.fixture
def runs(run_file, make_record):
    record = make_record("add")
    return run_file("base.jsonl", [record], BASE), run_file("new.jsonl", [record], NEW), record.id


def invoked(*words):
    return CliRunner().invoke(explain, list(map(str, words)))


def test_the_choices_are_those_of_the_code():
    fields = declared(ExplainRequest)
    assert fields["measured_pass"].choices == PASSES
    assert fields["sort"].choices == tuple(difference.ORDERS)


def test_a_case_of_two_run_files(runs):
    base, new, id = runs
    done = invoked(base, new, id[:8])
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("add (x: (4,)), forward\n")
    assert "Instructions per call: 5.5 to 7.9, +2.4 (+43.64 %)." in done.stdout
    assert "Of these, 5 and 5 are of the loop around the calls" in done.stdout
    backward = invoked(base, new, "add", "--pass", "backward")
    assert "0.6 to 0.9, +0.3 (+50.00 %)" in backward.stdout


def test_two_files_of_callgrinds(runs):
    base, new, id = runs
    dumps = [path.with_suffix(".callgrind") / f"{id}.forward.callgrind" for path in (base, new)]
    done = invoked(*dumps, "--no-python", "--top", 1)
    assert done.exit_code == 0 and done.stdout.startswith("base ")
    assert "1 other function " in done.stdout
    assert "Python's own frames" in invoked(*dumps, "--no-python").stdout


def test_json_is_printed_and_written(runs, tmp_path):
    base, new, id = runs
    printed = json.loads(invoked(base, new, id, "-f", "json", "--sort", "inclusive").stdout)
    assert printed["order"] == "inclusive" and len(printed["functions"]) == 2
    output = tmp_path / "out.json"
    done = invoked(base, new, id, "-o", output)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", f"written to {output}\n")
    assert json.loads(output.read_text())["case"] == "add (x: (4,)), forward"


@pytest.mark.parametrize("suffix", [".svg", ".html", ".SVG"])
def test_a_flame_graph_is_written_beside_the_report(runs, tmp_path, suffix):
    base, new, id = runs
    path = tmp_path / f"flame{suffix}"
    done = invoked(base, new, id, "--flame", path)
    assert done.exit_code == 0 and done.stderr == f"written to {path}\n" and "total" in done.stdout
    assert "<svg" in path.read_text()
    again = invoked(base, new, id, "--flame", path)
    assert isinstance(again.exception, OutputError) and "--overwrite" in str(again.exception)
    assert invoked(base, new, id, "--flame", path, "--overwrite").exit_code == 0


def test_a_flame_graph_needs_a_name_of_its_own(runs, tmp_path):
    base, new, id = runs
    done = invoked(base, new, id, "--flame", tmp_path / "flame.png")
    assert isinstance(done.exception, UsageError) and ".svg or .html" in str(done.exception)
    done = invoked(
        base, new, id, "--flame", base.with_suffix(".svg"), "-o", base.with_suffix(".svg")
    )
    assert isinstance(done.exception, UsageError) and "is not an extension" in str(done.exception)
    (tmp_path / "dump.svg").write_text(
        (base.parent / f"base.callgrind/{id}.forward.callgrind").read_text()
    )
    done = invoked(
        tmp_path / "dump.svg",
        tmp_path / "dump.svg",
        "--flame",
        tmp_path / "dump.svg",
        "--overwrite",
    )
    assert isinstance(done.exception, OutputError) and "is an input" in str(done.exception)


def test_a_damaged_dump_is_named_with_its_line(runs):
    base, new, id = runs
    dump = new.with_suffix(".callgrind") / f"{id}.forward.callgrind"
    dump.write_text("# callgrind format\nevents: Ir\nfn=f\n1 x\n")
    done = invoked(base, new, id)
    assert isinstance(done.exception, CallgrindError)
    assert str(done.exception) == f"{dump}:4: no line of counts: '1 x'"


def test_warnings_about_a_run_file_are_printed(runs):
    base, new, id = runs
    with new.open("a") as file:
        file.write('{"line":"rec')
    done = invoked(base, new, id)
    assert done.exit_code == 0 and done.stderr.startswith(f"warning: {new}")
