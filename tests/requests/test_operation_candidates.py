"""Kernels judged against an operation, through the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opperf.commands.versus import versus
from opperf.errors import OpperfError
from opperf.frameworks import is_available

TORCH = """
import torch


def right(data, axis):
    exponentials = (data - data.amax(axis, keepdim=True)).exp()
    return exponentials / exponentials.sum(axis, keepdim=True)


def wrong(data, axis):
    return data.exp()


def fallback(data, axis):
    return torch.softmax(data, axis)
"""

NUMPY = """
import numpy as np


def right(data, indices, axis):
    return data[indices]


def narrow(data, indices):
    return data[indices]
"""

needs_torch = pytest.mark.skipif(not is_available("torch"), reason="PyTorch is not installed")

ROWS = ("--shape", "data=16x32", "--max-configs", "1")

SMALL = ("--size", "small", "--max-configs", "1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(TORCH)
    (tmp_path / "own.py").write_text(NUMPY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*words: str) -> Result:
    return CliRunner().invoke(versus, list(words))


def test_indices_are_in_range_for_every_seed(folder: Path) -> None:
    done = invoke("take", "--candidate", "own.py:right", "--among", "numpy", *SMALL, "-f", "json")
    assert done.exit_code == 0, done.output
    assert "called with (data, indices, axis), in 1 row\n" in done.stderr
    (verdict,) = json.loads(done.stdout)["verdicts"]
    (trial,) = verdict["trials"]
    assert trial["trial"]["indices"] == "(625,) int64 integers(0, 625)"
    assert trial["baselines"].keys() == trial["ratios"].keys() == {"numpy"}


@needs_torch
def test_candidates_are_judged_beside_the_arms_of_their_framework(folder: Path) -> None:
    names = ("right", "wrong", "fallback")
    candidates = (word for name in names for word in ("--candidate", f"mine.py:{name}"))
    among = ("--among", "numpy,torch,torch.aten")
    done = invoke("softmax", *candidates, *among, *ROWS, "-f", "json")
    assert done.exit_code == 1, done.output
    assert "absent: numpy: candidates get arrays of torch\n" in done.stderr
    assert "opperf: mine.py:wrong wrong: " in done.stderr
    right, wrong, fallback = json.loads(done.stdout)["verdicts"]
    assert [each["status"] for each in (right, wrong, fallback)] == ["passed", "wrong", "passed"]
    assert list(right["trials"][0]["baselines"]) == ["torch", "torch.aten"]
    assert fallback["called"] == fallback["replaced"] == right["replaced"]
    assert not {*right["called"]} & {*right["replaced"]}


@needs_torch
def test_a_dry_run_prints_what_a_candidate_gets(folder: Path) -> None:
    done = invoke("softmax", "--candidate", "mine.py:right", *ROWS, "--dry-run")
    first, second = done.stdout.splitlines()
    assert first == "mine.py:right is called with (data, axis)"
    assert second.startswith("softmax (data: (16, 32), axis: -1): torch ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("take", "--candidate", "own.py:narrow"), "takes (data, indices); it is called with"),
        (("take", "add", "--candidate", "own.py:right"), "replaces one operation"),
        (("softmax", "--candidate", "own.py:right"), "numpy has no operator of softmax"),
        (("takee", "--candidate", "own.py:right"), "did you mean take"),
        (("take", "--candidate", "own.py:right", "--reference", "own.py:right"), "omit it"),
        (("take", "--candidate", "own.py:right", "--device", "gpu"), "judged on the CPU"),
        (("take", "--candidate", "own.py:right", "--quick"), "--quick does not apply"),
    ],
)
def test_bad_input(words: tuple[str, ...], message: str, folder: Path) -> None:
    error = invoke(*words, "--among", "numpy", "--size", "small").exception
    assert isinstance(error, OpperfError) and error.exit_code == 2
    assert message in str(error) and "\n" not in str(error)


def test_arms_of_other_frameworks_alone(folder: Path) -> None:
    error = invoke("take", "--candidate", "own.py:right", "--among", "mxnet").exception
    assert isinstance(error, OpperfError) and error.exit_code == 2
    assert "no arm of numpy" in str(error)
