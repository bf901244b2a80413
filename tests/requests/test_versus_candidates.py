from __future__ import annotations

from pathlib import Path

import pytest

from opperf.candidates.report import code_of
from opperf.errors import UsageError
from opperf.requests.versus.candidates import judge_candidates
from opperf.requests.versus.request import VersusRequest

REFERENCE = """
import numpy as np
def make(seed, n=500):
    return [np.random.standard_normal(n), 3]
def scaled(x, factor):
    return x * factor
"""

CANDIDATES = """
import numpy as np
def right(x, factor):
    return np.multiply(factor, x)
def zeros(x, factor):
    return np.zeros_like(x)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ref.py").write_text(REFERENCE)
    (tmp_path / "own.py").write_text(CANDIDATES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def request(*candidates: str, **fields: object) -> VersusRequest:
    given = {"reference": "ref.py:scaled", "making_inputs": "ref.py:make", **fields}
    return VersusRequest(candidates=candidates, **given)  # type: ignore[arg-type]


def test_candidates_are_judged_and_reported(folder: Path) -> None:
    said: list[str] = []
    asked = request("own.py:right", "own.py:zeros", trials=("n=400", "n=600"))
    found = judge_candidates(asked, said.append)
    assert [verdict.status.value for verdict in found.found] == ["passed", "wrong"]
    assert (found.code, said) == (1, ["judging own.py:right", "judging own.py:zeros"])
    assert found.reason.startswith("own.py:zeros wrong: n=400: ")
    header = list(found.report.header)
    rows = [dict(zip(header, row, strict=True)) for row in found.report.rows]
    assert [(row["trial"], row["name"], row["status"]) for row in rows] == [
        ("n=400", "own.py:right", "passed"),
        ("n=400", "reference", ""),
        ("n=600", "own.py:right", "passed"),
        ("n=600", "reference", ""),
        ("n=400", "own.py:zeros", "wrong"),
        ("n=600", "own.py:zeros", "wrong"),
    ]
    assert all(bool(row["speedup"]) is (row["name"] == "reference") for row in rows)
    assert code_of(found.found[:1]) == 0


@pytest.mark.parametrize(
    ("candidate", "fields", "message"),
    [
        ("none.py:f", {}, "no file none.py"),
        ("own.py", {}, "FILE.py:FUNCTION"),
        ("own.py:right", {"reference": ""}, "--reference"),
        ("own.py:right", {"trials": ("n",)}, "--trial 'n'"),
    ],
)
def test_a_wrong_request_is_refused(
    candidate: str, fields: dict[str, object], message: str, folder: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        judge_candidates(request(candidate, **fields), print)


def test_no_such_function_is_a_verdict(folder: Path) -> None:
    found = judge_candidates(request("own.py:absent"), print)
    assert found.code == 1
    assert "has no 'absent'" in found.reason
