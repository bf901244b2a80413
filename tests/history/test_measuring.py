"""`opperf history run`: commits of a real repository, measured by real processes into a store."""

import json
from pathlib import Path

import pytest

from opperf.errors import OpperfError
from opperf.execution.workers import Workers
from opperf.folders import DATA
from opperf.history.builds import Builder
from opperf.opperf import cli

SUM = "def total(x):\n    return x.sum()\n"
MEAN = f"{SUM}\n\ndef mean(x):\n    return x.mean()\n"
BROKEN = "import nowhere_to_be_found\n"
INPUTS = """
import numpy as np

def inputs():
    return {"x": np.ones(64, np.float32)}
"""

MEASURE = (
    *("kernels:total", "kernels:mean", "--inputs", "inputs.py:inputs", "--framework", "numpy"),
    *("--runs", "3", "--warmup", "1", "--quiet"),
)


@pytest.fixture
def opperf(made, tmp_path, monkeypatch, capsys):
    """Calls opperf in a repository of four commits, of which the first has one function and the
    third cannot be imported; returns what it prints."""
    monkeypatch.setenv("OPPERF_HISTORY", str(tmp_path / "history.sqlite"))
    monkeypatch.setenv(DATA, str(tmp_path / "data"))
    for name in ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BRANCH_NAME"):
        monkeypatch.delenv(name, raising=False)
    for number, code in enumerate((SUM, MEAN, BROKEN, f"{MEAN}# faster\n")):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"2026-01-{number + 1:02}T12:00:00Z")
        made.commit(f"commit {number}", **{"kernels.py": code})
    monkeypatch.chdir(made.path)
    Path("inputs.py").write_text(INPUTS)
    # What is checked out is nothing that is measured.
    Path("kernels.py").write_text("def total(x):\n    raise ValueError('of no commit')\n")

    def called(*words, code=0):
        assert cli.main([*map(str, words)], standalone_mode=False) == code
        return capsys.readouterr().out

    return called


def states(printed):
    return [one["state"] for one in json.loads(printed)["commits"]]


def test_commits_are_measured_once_and_go_on_after_an_interruption(
    opperf, made, monkeypatch, tmp_path
):
    ask = ("history", "run", "ALL", *MEASURE, "-f", "json")
    measure, measured = Workers.measure, []

    def interrupted(self, case):
        if len(measured) == 4:
            raise KeyboardInterrupt
        measured.append(case.target.label)
        return measure(self, case)

    monkeypatch.setattr(Workers, "measure", interrupted)
    first = opperf(*ask, code=130)
    assert states(first) == ["measured", "interrupted", "not reached", "measured"]
    assert json.loads(first)["commits"][0]["why"] == "lacks kernels:mean"
    monkeypatch.setattr(Workers, "measure", measure)
    second = json.loads(opperf(*ask))["commits"]
    assert [(one["state"], one["cases"]) for one in second] == [
        ("already there", 0),
        ("measured", 1),
        ("failed", 0),
        ("already there", 0),
    ]
    assert "No module named 'nowhere_to_be_found'; and 1 more function" in second[2]["why"]
    runs = json.loads(opperf("history", "list", "--what", "runs", "-f", "json"))["runs"]
    shas = made.git("rev-list", "--reverse", "HEAD").split()
    # The second commit has a run of each command.
    assert [(run["position"], run["commit"]) for run in runs] == [
        (place + 1, shas[place]) for place in (0, 1, 1, 2, 3)
    ]
    assert [run["date"] for run in runs] == [f"2026-01-{day:02}" for day in (1, 2, 2, 3, 4)]
    assert {run["branch"] for run in runs} == {"main"} and not any(run["dirty"] for run in runs)
    series = json.loads(opperf("history", "list", "-f", "json"))["series"]
    counts = {row["operator"]: row["figures"] for row in series if row["metric"] == "forward"}
    assert counts == {"kernels:total": 3, "kernels:mean": 2}
    assert "4 commits" in opperf("history", "check")

    built, build = [], Builder.build

    def watched(self, commit):
        built.append(commit.sha)
        return build(self, commit)

    monkeypatch.setattr(Builder, "build", watched)
    assert states(opperf(*ask)) == ["already there"] * 2 + ["failed before", "already there"]
    assert built == []
    assert states(opperf(*ask, "--retry-failed", "--strict", code=1))[2] == "failed"
    assert built == [shas[2]]
    # In other words, which the history knows by the cases alone.
    there = opperf("history", "run", "HEAD", *MEASURE[1:], "--retry-failed", "-f", "json")
    assert states(there) == ["already there"] and built == shas[2:]
    assert len(json.loads(opperf("history", "list", "--what", "runs", "-f", "json"))["runs"]) == 5
    assert not list((tmp_path / "cache" / "unfinished").glob("*.jsonl"))


def test_a_commit_that_does_not_build_is_tried_once(opperf, made, tmp_path):
    log = tmp_path / "builds"
    build = ("--", f"echo built >> {log}; echo no header; exit 2")
    words = ("history", "run", "HEAD~1..", *MEASURE, "-f", "json")
    printed = json.loads(opperf(*words, *build, code=3))["commits"]
    assert [(one["state"], one["date"]) for one in printed] == [("failed", "2026-01-04")]
    assert "does not build: exit code 2; last output: no header" in printed[0]["why"]
    # Whatever is measured of it.
    other = ("history", "run", "HEAD", *MEASURE[1:], "-f", "json")
    assert states(opperf(*other, *build, code=3)) == ["failed before"]
    assert log.read_text() == "built\n"
    assert states(opperf(*other, "--retry-failed", *build, code=3)) == ["failed"]
    assert log.read_text() == "built\n" * 2
    runs = json.loads(opperf("history", "list", "--what", "runs", "-f", "json"))["runs"]
    assert [(run["source"], run["figures"]) for run in runs] == [("history run", 0)]
    planned = opperf("history", "run", "ALL", *MEASURE, "--steps", 2, "--dry-run", "-f", "json")
    assert states(planned) == ["to be measured"] * 2
    # Built otherwise, the last one is another matter.


WRONG = {
    ("HEAD..HEAD~1",): "HEAD..HEAD~1 has no commit",
    ("HEAD~1...HEAD",): "a range is A..B",
    ("nowhere..HEAD",): "nowhere: .* has no such commit",
    ("--framework", "numpy", "HEAD"): "RANGE is the first word, and --framework is none",
    ("HEAD", "--nonsense", "3"): "No such option '--nonsense'",
    ("HEAD", "--resume"): "--resume is of opperf run alone",
    ("HEAD", "--steps", "3", "--every", "2"): "give one of them",
    ("HEAD", "suite.yaml"): "suites are run by opperf suite run",
    ("HEAD", "--commit-env", "PATH"): "write it as NAME=VALUE",
    (*("HEAD", *MEASURE), "--commit-env", "PYTHONPATH=elsewhere"): (
        "kernels is .*elsewhere/kernels.py, and not of the build of"
    ),
}
"""Messages by the words after the command."""


def test_wrong_words_are_one_line_and_add_nothing(opperf, tmp_path):
    Path("elsewhere").mkdir()
    Path("elsewhere/kernels.py").write_text(MEAN)
    for words, message in WRONG.items():
        with pytest.raises(OpperfError, match=message) as caught:
            opperf("history", "run", *words)
        assert "\n" not in str(caught.value) and caught.value.exit_code == 2
    assert not list((tmp_path / "cache" / "unfinished").glob("*.jsonl"))
    with pytest.raises(OpperfError, match="has no runs yet"):
        opperf("history", "list")
