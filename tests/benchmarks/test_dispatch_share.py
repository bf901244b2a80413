"""The share of cases that are mostly dispatch, of a run file."""

import subprocess
import sys
from pathlib import Path

from benchmarks.inputs.dispatch_share import shares
from opperf.instruments.profilers.summary import summarise
from opperf.model import Case, Note, NoteCode, OperatorTarget, Record, Status
from opperf.rules.shapes import DISPATCH


def record(name, category, *dispatched, status=Status.OK, why=""):
    case = Case(OperatorTarget("fake", name), {}, category=category, why=why)
    return Record(
        case=case,
        id=case.id,
        status=status,
        summaries={one: summarise([1.0], "ns") for one in ("forward", "backward")},
        notes=tuple(Note(one, NoteCode.DISPATCH, "") for one in dispatched),
    )


RECORDS = [
    record("relu", "unary", "forward"),
    record("exp", "unary"),
    record("exp", "unary", "forward", why=DISPATCH),
    record("add", "binary", "forward", "backward"),
    record("gone", "unary", "forward", status=Status.FAILED),
]


def test_shares_of_each_pass():
    assert list(shares(RECORDS)) == [
        "forward: 3 of 4 cases are mostly dispatch, 75.0%",
        "  1 say so, 2 do not:",
        "     1 of    3  unary",
        "     1 of    1  binary",
        "backward: 1 of 4 cases are mostly dispatch, 25.0%",
        "  0 say so, 1 do not:",
        "     1 of    1  binary",
    ]


def test_shares_by_operator():
    assert "     1 of    1  relu" in list(shares(RECORDS, by_operator=True))


def test_the_command_reads_a_run_file(tmp_path, variables):
    root = Path(__file__).resolve().parents[2]

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", *words], cwd=root, env=variables, capture_output=True, text=True
        )

    path = str(tmp_path / "run.jsonl")
    words = [
        "--framework",
        "fake",
        "--size",
        "small",
        "-w",
        "0",
        "-r",
        "1",
        "-f",
        "jsonl",
        "--quiet",
        "--cpus",
        "none",
    ]
    measured = run("opperf", "run", "relu", *words, "-o", path)
    assert measured.returncode == 0, measured.stderr
    assert run("benchmarks.inputs.dispatch_share", path).stdout.splitlines()[0] == (
        "forward: 0 of 2 cases are mostly dispatch, 0.0%"
    )
