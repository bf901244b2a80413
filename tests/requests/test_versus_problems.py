"""Problems of a folder, judged through the command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opperf.candidates.model import Candidate, Problem, TrialResult, Verdict, VerdictStatus
from opperf.commands.versus import versus
from opperf.errors import INTERRUPTED, OpperfError
from opperf.requests.versus import problems
from tests.candidates.formats.written import WRITERS, write_file

pytest.importorskip("torch")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Has problems of KernelBench, of which one has a right candidate and another a wrong one."""
    WRITERS["KernelBench"](tmp_path / "given")
    kept = ("level_1_problem_1_sample_0", "level_1_problem_2_sample_1")
    for path in (tmp_path / "given" / "run").iterdir():
        if not path.name.startswith(kept):
            path.unlink()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*words: str) -> Result:
    return CliRunner().invoke(versus, list(words))


def test_candidates_of_a_folder_are_judged_scored_and_written(folder: Path) -> None:
    # On a busy machine a call may take longer than it is given.
    for _ in range(3):
        done = invoke("given", "--results", "out", "--overwrite", "-f", "json")
        found = json.loads(done.stdout)
        if found["verdicts"][0]["status"] == "passed":
            break
    assert done.exit_code == 1, done.output
    assert "judging level1/1_relu (1 of 2): 1 candidate\n" in done.stderr
    # Of ten problems, of which eight have no candidate.
    assert [verdict["status"] for verdict in found["verdicts"]] == ["passed", "wrong"]
    assert (found["format"], found["scores"]["fast_0"]) == ("KernelBench", 0.1)
    assert found["scores"]["geometric mean of correct"] == pytest.approx(
        found["rows"][1]["speedup"]
    )
    results = json.loads((folder / "out" / "eval_results.json").read_text())
    assert {key: [each["correctness"] for each in own] for key, own in results.items()} == {
        "1": [True],
        "2": [False],
    }
    assert sorted(path.name for path in folder.iterdir()) == ["given", "out"]


class Judge:
    """Decides nothing, and is interrupted at the second verdict."""

    def __init__(self) -> None:
        self.verdicts = 0

    def verdict(self, problem: Problem, candidate: Candidate) -> Verdict:
        self.verdicts += 1
        if self.verdicts > 1:
            raise KeyboardInterrupt
        status = VerdictStatus.UNDECIDABLE
        trials = (TrialResult(problem.trials[0], status, "zeros would pass"),)
        return Verdict(problem.name, candidate.name, status, "zeros would pass", trials)

    def close(self) -> None:
        pass


def test_what_was_judged_before_an_interruption_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(problems, "judge_of", lambda *_: Judge())
    done = invoke("given", "--results", "out")
    assert done.exit_code == INTERRUPTED
    assert "1 verdict: 0 passed" in done.stdout and "Scores" in done.stdout
    assert "interrupted; 1 of 2 problems judged" in done.stderr
    assert list(json.loads((folder / "out" / "eval_results.json").read_text())) == ["1"]


def test_nothing_decided_is_3(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (folder / "given" / "run").glob("*problem_2*"):
        path.unlink()
    monkeypatch.setattr(problems, "judge_of", lambda *_: Judge())
    assert invoke("given").exit_code == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["./none"], "there is no such file or folder"),
        (["empty/"], "has no problems of kernels that opperf reads"),
        (["given", "--set", "QQ=1"], "unknown name of --set 'QQ'"),
        (["given", "--candidate", "none.py"], "--candidate none.py: there is no such file"),
        (["given", "--candidate", "mine.py"], "its name says not which problem it solves"),
        (["tasks/relu", "--candidate", "mine.py"], "--candidate mine.py fits no problem"),
        (["tasks", "--candidate", "mine.py"], "has 10 problems; name the folder of the one"),
        (["given/level1"], "has no candidate to judge; add --candidate FILE"),
        (["given", "--results", "given"], "given has files; add --overwrite"),
        (["given", "--results", "mine.py"], "mine.py cannot be written"),
        (["given", "--among", "numpy"], "--among does not apply to given"),
        (["given", "-o", "mine.py/a.md"], "mine.py is not a folder"),
        (
            ["add", "--candidate", "mine.py:f", "--reference", "mine.py:f"],
            "add: --reference names what candidates replace",
        ),
        (["--candidate", "mine.py:f", "--set", "M=1"], "--set: it is of a folder of problems"),
    ],
)
def test_a_wrong_request_is_one_line(words: Sequence[str], message: str, folder: Path) -> None:
    WRITERS["robust-kbench"](folder / "tasks")
    (folder / "empty").mkdir()
    write_file(folder / "mine.py", "class ModelNew: ...\n")
    error = invoke(*words).exception
    assert isinstance(error, OpperfError) and error.exit_code == 2
    assert message in str(error) and "\n" not in str(error)
