"""Runs of several settings, runs of run files, and runs in other environments, as users start
them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from opperf.frameworks import load
from opperf.model import SCHEMA_VERSION, Case, Header, OperatorTarget, Status, TensorSpec
from opperf.results.runfile import RunWriter, read_run
from opperf.worker.answers import script

SHORT = ("--size", "small", "-w", "1", "-r", "2", "--max-configs", "1", "-f", "jsonl")


def run_of(command, name="a.jsonl"):
    run, warnings = read_run(command.folder / name)
    assert warnings == []
    return run


def settings(run, *names):
    return [tuple(getattr(r.case.settings, name) for name in names) for r in run.records]


@pytest.fixture(scope="module")
def recorded_file(module_command):
    """A run file of one operator in two dtypes and with two numbers of threads."""
    wanted = ("--dtype", "float32,float16", "--threads", "1,2", "--label", "commit=1a2b")
    own = ("exp", "--framework", "numpy")
    out, _ = module_command("run", *own, *wanted, *SHORT, "-o", "a.jsonl")
    assert (
        "4 cases of 1 operator: cpu(0), float32 and float16, python profiler, threads 1 and " in out
    )
    return module_command.folder / "a.jsonl"


@pytest.fixture
def recorded(command_here, recorded_file):
    """The run of that file; a copy is in the working directory."""
    shutil.copy(recorded_file, command_here.folder)
    return run_of(command_here)


def test_every_combination_is_measured_with_what_was_in_force(recorded):
    combinations = [("float32", 1), ("float16", 1), ("float32", 2), ("float16", 2)]
    assert settings(recorded, "dtype", "threads") == combinations
    assert {record.status for record in recorded.records} == {Status.OK}
    assert recorded.header.labels == {"commit": "1a2b"}
    assert len(recorded.environments) == 2
    for record in recorded.records:
        there = recorded.environments[record.environment].threads["OMP_NUM_THREADS"]
        assert there == str(record.case.settings.threads)


def test_a_run_file_is_measured_again_as_it_is_or_otherwise(command_here, recorded):
    command = command_here
    command("run", "a.jsonl", "-f", "jsonl", "-o", "b.jsonl")
    again = run_of(command, "b.jsonl")
    assert again.cases == recorded.cases
    assert {record.status for record in again.records} == {Status.OK}
    out, _ = command("compare", "a.jsonl", "b.jsonl")
    assert "4 cases" in out
    command("run", "a.jsonl", "--threads", "all", "--cache", "cold", "-f", "jsonl", "-o", "c.jsonl")
    other = run_of(command, "c.jsonl")
    assert settings(other, "dtype", "threads", "cache", "runs") == [
        ("float32", None, "cold", 2),
        ("float16", None, "cold", 2),
    ]


def test_a_killed_run_of_several_processes_goes_on_without_planning(command_here, recorded):
    """The lines of the last process, and half of those of the first, are cut off. What is left
    stays as it is; a record may follow that replaces an earlier one, as a stalled case is measured
    again at the end.
    """
    command, path = command_here, command_here.folder / "a.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    kinds = [json.loads(line)["line"] for line in lines]
    assert kinds[:8] == ["header", *["case"] * 4, "environment", "record", "record"]
    left = b"".join(lines[:7])
    path.write_bytes(left + lines[7][:50])
    out, err = command("run", "--resume", "a.jsonl", "--threads", "1,2")
    assert "the last line was cut short" in err and "1 of them already done" in out
    whole = run_of(command)
    assert path.read_bytes().startswith(left) and whole.cases == recorded.cases
    assert [record.status for record in whole.records] == [Status.OK] * 4
    _, err = command("run", "--resume", "a.jsonl", "--threads", "2", code=2)
    assert err.startswith("opperf: the run to resume was made with --threads '1, 2', not '2'; ")


def test_values_that_this_machine_lacks_are_skipped_beside_others(command_here):
    command_here(
        "run", "relu", "--ctx", "cpu,gpu(7)", "--dtype", "float32,int16", *SHORT, "-o", "a.jsonl"
    )
    run = run_of(command_here)
    found = {(r.case.settings.device, r.case.settings.dtype): r for r in run.records}
    assert {place: record.status for place, record in found.items()} == {
        ("cpu(0)", "float32"): Status.OK,
        ("cpu(0)", "int16"): Status.SKIPPED,
        ("gpu(7)", "float32"): Status.SKIPPED,
        ("gpu(7)", "int16"): Status.SKIPPED,
    }
    assert "int16" in found["cpu(0)", "int16"].reason
    assert found["gpu(7)", "float32"].reason.startswith("gpu(7): this ")


def test_functions_of_one_name_are_two_rows(command_here):
    command = command_here
    command("run", "nd.add", "np.add", *SHORT, "--no-backward", "-o", "a.jsonl")
    run = run_of(command)
    assert [record.case.label for record in run.records] == ["nd.add", "np.add"]
    command("run", "a.jsonl", "-o", "b.json")
    assert list(json.loads((command.folder / "b.json").read_text())) == ["nd.add", "np.add"]


def test_a_function_in_a_users_file_and_none_of_the_files_beside_it(command):
    (command.folder / "kernels.py").write_text(
        "import helper\n\n\ndef double(x):\n    return helper.FACTOR * x\n"
    )
    (command.folder / "helper.py").write_text("FACTOR = 2\n")
    for name in ("random", "re", "json"):
        (command.folder / f"{name}.py").write_text("raise SystemExit('not mine')\n")
    wanted = ("--framework", "numpy", "--shape", "x=8x8")
    command("run", "kernels.py:double", *wanted, *SHORT, "-o", "a.jsonl")
    (record,) = run_of(command).records
    assert (record.case.label, record.status) == ("double", Status.OK)
    _, err = command("run", "kernels.py:treble", *wanted, *SHORT, "-o", "b.jsonl", code=2)
    assert err.startswith("opperf: ") and "has no 'treble'" in err and err.count("\n") == 1


def test_a_script_makes_the_very_tensor_that_a_worker_measures(command, monkeypatch):
    monkeypatch.chdir(command.folder)
    seen = command.folder / "seen.npy"
    # Two processes call it at once, of which one may be ended while it writes.
    (command.folder / "keep.py").write_text(
        f"""import os\nimport numpy\n\n\ndef keep(x):
    own = f"{{os.getpid()}}.npy"
    numpy.save(own, x)
    os.replace(own, {str(seen)!r})
    return x
"""
    )
    wanted = ("--framework", "numpy", "--shape", "x=700x800", "--dtype", "float16")
    command("run", "keep.py:keep", *wanted, *SHORT, "-o", "a.jsonl")
    (case,) = run_of(command).cases
    text, made = script(load("numpy"), case), {}
    exec(text[: text.rindex("\n\n")], made)
    assert made["x"].dtype == "float16"
    np.testing.assert_array_equal(made["x"], np.load(seen))


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """The interpreter of another environment of this Python, with no package in it."""
    folder = tmp_path_factory.mktemp("environments") / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return str(folder / "bin" / "python")


def test_another_environment_borrows_what_it_lacks(command_here, elsewhere):
    command = command_here
    two = ("--python", f"own:{sys.executable}", "--python", elsewhere)
    command("run", "add", "--framework", "numpy", *two, *SHORT, "-o", "a.jsonl")
    run = run_of(command)
    assert settings(run, "python") == [("own",), ("bare",)]
    assert {record.status for record in run.records} == {Status.OK}
    assert [Path(one.path).parent.parent.name for one in run.header.interpreters][1] == "bare"
    command("run", "a.jsonl", "-f", "jsonl", "-o", "b.jsonl")
    assert run_of(command, "b.jsonl").cases == run.cases
    out, _ = command("list", "add", "--framework", "numpy", "--python", elsewhere)
    assert out.splitlines()[2].startswith("add ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nothing.jsonl",), "nothing.jsonl: no such file"),
        (("notes.txt",), "notes.txt is not a file of cases that opperf reads: run file"),
        (("a.jsonl", "--size", "large"), "--size does not apply to"),
        (("a.jsonl", "--dtype", "float8"), "unknown dtype 'float8'"),
        (("a.jsonl", "--python", "/no/python"), "'/no/python': no such program"),
        (("a.jsonl", "--id", "ffff"), "--id ffff: no planned case has this id"),
    ],
)
def test_what_is_refused(command_here, arguments, words):
    case = Case(OperatorTarget("mxnet", "relu"), {"data": TensorSpec((2, 3))})
    header = Header(schema=SCHEMA_VERSION, started="", options={})
    with RunWriter.create(command_here.folder / "a.jsonl", header, [case]):
        pass
    (command_here.folder / "notes.txt").write_text("hello\n")
    before = command_here.files()
    _, err = command_here("run", *arguments, "-o", "out.json", code=2)
    assert err.startswith("opperf: ") and words in err and err.count("\n") == 1
    assert command_here.files() == before
