"""`opperf bisect` as a user gives it: real builds, real processes."""

import json
import subprocess
from pathlib import Path

import pytest

from opperf.folders import FOLDER
from opperf.opperf import main

MODULE = """
def total(x):
    for _ in range({passes}):
        found = x.sum()
    return found
"""

INPUTS = """
import numpy as np

def inputs():
    return {"x": np.ones(4096, np.float32)}
"""

SLOWER = 2
"""Number of the commit whose function does forty times the work."""


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Returns a command line for a repository of four commits, the current folder, which has the
    last one's package."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "cache"))
    folder = tmp_path / "repository"
    (folder / "pkg").mkdir(parents=True)
    git(folder, "init", "--quiet")
    for number in range(4):
        passes = 40 if number >= SLOWER else 1
        (folder / "pkg" / "k.py").write_text(MODULE.format(passes=passes) + f"# {number}\n")
        git(folder, "add", "pkg")
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        git(folder, *who, "commit", "--quiet", "-m", f"Revision {number}")
    (tmp_path / "inputs.py").write_text(INPUTS)
    monkeypatch.chdir(folder)
    options = "--ops pkg.k:total --inputs ../inputs.py:inputs --framework numpy --control-blocks 2"
    options += " --blocks 2 --case-time 0.01 --no-confirm"
    return lambda *more: ["bisect", *more, *options.split(), "--", "ls", "pkg", "."]


def git(folder, *words):
    subprocess.run(["git", *words], cwd=folder, check=True)


def run(words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code


@pytest.mark.sweep
def test_the_commit_is_found_and_the_report_made_again(given, tmp_path, capsys):
    assert run(given("HEAD~3", "HEAD", "-o", "found.json", "-o", "found.html")) == 0
    found = json.loads(Path("found.json").read_text())
    assert found["outcome"] == "found"
    assert [commit["subject"] for commit in found["first_bad"]] == [f"Revision {SLOWER}"]
    assert found["ratio"] > 2
    capsys.readouterr()
    assert run(["bisect", "--resume", "-f", "md"]) == 0
    out, err = capsys.readouterr()
    assert f"'Revision {SLOWER}'" in out
    assert "measuring" not in err, "every step is in the folder"
    git(tmp_path / "repository", "worktree", "prune")
    listed = subprocess.check_output(["git", "worktree", "list"], cwd=tmp_path / "repository")
    assert listed.count(b"\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "HEAD"], "has no such commit"),
        (["HEAD", "HEAD~2"], "is no ancestor of BAD"),
        (["HEAD", "HEAD"], "the same commit"),
        (["HEAD~1", "HEAD", "--threads", "1,all"], "a step has one number of threads"),
        (["HEAD~1", "HEAD", "--folder", "pkg"], "has other files"),
        (["--resume"], "no bisection to resume"),
        (["--resume", "HEAD"], "resumed as it was begun"),
        ([], "name two commits"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(given, words, message, capsys):
    before = sorted(Path().iterdir())
    line = given(*words)
    if "--resume" in words or not words:
        line = ["bisect", *words]
    assert run(line) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert sorted(Path().iterdir()) == before


def test_a_failure_before_the_first_step_leaves_an_earlier_bisection(given, capsys):
    folder = Path("opperf_bisect")
    folder.mkdir()
    (folder / "bisection.json").write_text("{}")
    line = given("HEAD~1", "HEAD", "--quiet")
    assert run(line) == 2
    assert "has a bisection already; --resume goes on with it" in capsys.readouterr().err
    line = given("HEAD~1", "HEAD", "--quiet", "--overwrite")[:-3] + ["sh", "-c", "echo no; exit 1"]
    assert run(line) == 2
    assert "does not build: exit code 1; last output: no" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["bisection.json"]


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_bisection_whose_successor_was_killed_is_back_unless_that_has_begun(
    given, has_begun, capsys
):
    earlier, folder = Path("opperf_bisect.earlier"), Path("opperf_bisect")
    for made, text in ((earlier, "old"), *([(folder, "new")] if has_begun else [])):
        made.mkdir()
        (made / "bisection.json").write_text(text)
    assert run(given("HEAD~1", "HEAD", "--quiet")) == 2
    assert "has a bisection already" in capsys.readouterr().err
    assert (folder / "bisection.json").read_text() == ("new" if has_begun else "old")
    assert not earlier.exists()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (".:{worktree}", "A and B load the same file of pkg.k"),
        (".", "both commits would be found in the same place"),
    ],
)
def test_commits_that_load_the_same_file_are_refused(given, path, message, capsys):
    assert run(given("HEAD~1", "HEAD", "--quiet", "--commit-env", f"PYTHONPATH={path}")) == 2
    out, err = capsys.readouterr()
    assert message in err and err.count("\n") == 1
    assert out == "" and not Path("opperf_bisect").exists()


def test_the_commit_that_raises_is_found(given, capsys):
    file = Path("pkg/k.py")
    file.write_text("def total(x):\n    raise ValueError('no sum')\n")
    git(".", "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qam", "Raises")
    assert run(given("HEAD~1", "HEAD", "-f", "json", "--quiet")) == 0
    found = json.loads(capsys.readouterr().out)
    assert [commit["subject"] for commit in found["first_bad"]] == ["Raises"]
    figure = found["figure"]
    assert (figure["metric"], figure["verdict"], figure["ratio"]) == ("runs", "missing", None)
    assert figure["reason"] == "failed: ValueError: no sum"
    assert run(given("HEAD~1", "HEAD", "--quiet", "--overwrite", "--on-error", "skip")) == 3
    assert "--on-error bad finds the commit that broke it" in " ".join(
        capsys.readouterr().out.split()
    )
