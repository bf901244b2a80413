"""NumPy's whole registry, as a user runs it: what runs, and what that covers."""

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from opperf.frameworks import load
from opperf.model import NoteCode, Status
from opperf.results.runfile import read_run

ROOT = Path(__file__).resolve().parents[3]

COVERED = 0.95
"""Share of the functions that compute on arrays that a run must measure."""


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "opperf", "--framework", "numpy", "-p", "python", *arguments],
        cwd=folder,
        env=os.environ | {"HOME": str(folder), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    # One case of each operator: tests/conformance runs the others.
    few = ("--max-configs", "1", "-w", "0", "-r", "1")
    options = ("--size", "small", *few, "--quiet", "-f", "jsonl")
    done = run(folder, *options, "-o", "run.jsonl")
    assert done.returncode == 0, done.stderr
    found, warnings = read_run(folder / "run.jsonl")
    assert not warnings
    return found


def test_every_planned_case_has_its_record(sweep):
    assert [record.id for record in sweep.records] == list(sweep.planned)


def test_every_case_is_measured(sweep):
    broken = {r.case.label: r.reason for r in sweep.records if r.status is not Status.OK}
    assert not broken


def test_nearly_every_function_is_covered(sweep):
    measured = {r.case.label for r in sweep.records if r.status is Status.OK}
    operators = {operator.name for operator in load("numpy").operators()}
    assert operators
    assert len(measured & operators) >= COVERED * len(operators)
    assert operators - measured == set(sweep.header.excluded)
    assert all(sweep.header.excluded.values())


def test_no_output_has_nan(sweep):
    assert not [r.case.label for r in sweep.records if r.note("", NoteCode.NAN)]


def test_every_peak_is_from_a_process_of_its_own(sweep):
    assert not [r.case.label for r in sweep.records if r.note("memory", NoteCode.NOT_PRISTINE)]


def test_times_and_memory_of_the_forward_pass(sweep):
    assert all("forward" in record.summaries for record in sweep.records)
    # What is taken off for the timing may be all of the quickest.
    assert median(record.summaries["forward"].mean for record in sweep.records) > 0
    for record in sweep.records:
        assert "backward" not in record.summaries
        assert record.case.passes == ("forward",)


def test_the_memory_of_an_addition_is_that_of_its_output(sweep):
    (record,) = [
        r
        for r in sweep.records
        if r.case.label == "add"
        and r.case.arguments["x1"].shape == (64, 64)
        and r.case.arguments["x2"].shape == (64, 64)
        and not any(spec.strides for _, spec in r.case.tensors())
    ]
    assert record.summaries["memory"].median == 64 * 64 * 8


def test_every_category_is_measured(sweep):
    measured = {r.case.category for r in sweep.records}
    wanted = {operator.category for operator in load("numpy").operators()}
    assert wanted - measured == {"python_function"}


def test_a_path_is_the_operator_there(command_here):
    names = ("np.abs", "numpy.linalg.norm")
    out, _ = command_here(*names, "--framework", "numpy", "--size", "small", "--list")
    assert "absolute" in out and "linalg.norm" in out


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("add", "--ctx", "gpu"), "CPU only"),
        (("add", "--dtype", "bfloat16"), "unknown dtype"),
        (("addd",), "did you mean add"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(command_here, arguments, words):
    _, err = command_here(*arguments, "--framework", "numpy", "-p", "python", code=2)
    assert words in err
    assert len(err.strip().splitlines()) == 1
