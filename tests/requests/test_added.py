"""Options that another package adds to commands, for its source and its executor."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import opperf
from opperf.results.runfile import read_run

ROOT = Path(__file__).parents[2]

CODE = """
from contextlib import contextmanager
from typing import Annotated

from opperf.execution.workers import Workers
from opperf.model import Case, OperatorTarget, Settings, TensorSpec
from opperf.model.declaring import integer_from
from opperf.requests.declaring import Group, Option
from opperf.sources.base import FileSource, Source


class Options(Group, frozen=True, kw_only=True):
    longest: Annotated[int, Option("Most elements.", integer_from(1))] = 9
    queue: Annotated[str, Option("Where to wait.")] = "short"


class Lengths(Source):
    def __init__(self, path, longest):
        super().__init__()
        self.path, self.longest = path, longest

    def cases(self):
        for number in map(int, self.path.read_text().split()[1:]):
            if number > self.longest:
                self.excluded[str(number)] = "too long"
                continue
            yield Case(
                target=OperatorTarget("numpy", "exp"),
                arguments={"x": TensorSpec(shape=(number,), dtype="float64")},
                settings=Settings(dtype="float64", profiler="python", warmup=0, runs=1),
                passes=("forward",),
            )


class LengthFiles(FileSource):
    name = "lengths"
    options = Options

    def recognizes(self, path):
        return path.read_text(errors="replace").startswith("lengths")

    def open(self, path, options):
        return Lengths(path, options.longest)


class Queue(Workers):
    lanes = 1


@contextmanager
def open_queue(task):
    task.say(f"waits in {task.options(Options).queue}")
    with Queue(task.interpreters) as workers:
        yield workers


class Clashes(Group, frozen=True, kw_only=True):
    mine: Annotated[str, Option("A name.", spellings="--label")] = ""
"""

ENTRIES = """
[opperf.options]
lengths = lengths_package:Options
[opperf.sources]
lengths = lengths_package:LengthFiles
[opperf.executors]
queue = lengths_package:open_queue
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs the package with these entry points, and returns opperf in a folder beside it."""

    def install(entries=ENTRIES):
        (tmp_path / "lengths_package.py").write_text(CODE)
        metadata = tmp_path / "lengths-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Name: lengths\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(entries)
        (tmp_path / "these.txt").write_text("lengths 4 9 30")
        paths = filter(None, (str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")))
        variables = {"PYTHONPATH": os.pathsep.join(paths), "HOME": str(tmp_path)}

        def called(*words, python=("-m", "opperf")):
            return subprocess.run(
                [sys.executable, *python, *words],
                cwd=tmp_path,
                env=os.environ | variables,
                capture_output=True,
                text=True,
            )

        return called

    return install


def shapes(path):
    run, _ = read_run(path)
    return [record.case.arguments["x"].shape for record in run.records]


def test_a_source_and_an_executor_are_given_their_options(installed, tmp_path):
    called = installed()
    done = called("run", "these.txt", "-o", "a.jsonl")
    assert done.returncode == 0, done.stderr
    assert shapes(tmp_path / "a.jsonl") == [(4,), (9,)]
    words = ("--longest", "4", "--executor", "queue", "--queue", "long")
    done = called("run", "these.txt", *words, "-o", "b.jsonl")
    assert "waits in long" in done.stdout + done.stderr
    assert shapes(tmp_path / "b.jsonl") == [(4,)]


def test_they_are_keywords_and_in_the_help(installed, tmp_path):
    called = installed()
    assert "Where to wait. [default: short]" in " ".join(called("run", "--help").stdout.split())
    code = "import opperf; print(len(opperf.run('these.txt', longest=30).records))"
    assert called(python=("-c", code)).stdout == "3\n"
    done = called("run", "these.txt", "--longest", "0")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--longest" in done.stderr


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("lengths_package:Clashes", "--label is declared twice for RunRequest"),
        ("lengths_package:Lengths", "is not a subclass of Group"),
        ("lengths_package:Absent", "cannot be loaded"),
    ],
)
def test_a_package_that_declares_no_options_of_its_own_is_refused(installed, entry, said):
    done = installed(f"[opperf.options]\nlengths = {entry}\n")("run", "these.txt")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


def test_without_a_package_there_are_none():
    with pytest.raises(opperf.errors.UsageError, match="longest"):
        opperf.run("exp", longest=3)
