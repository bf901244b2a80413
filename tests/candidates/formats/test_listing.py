"""What `opperf list` prints of a folder of problems of kernels."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from opperf.commands.registry import list_operators
from tests.candidates.formats.written import WRITERS


def test_problems_and_candidates_are_listed(tmp_path: Path) -> None:
    WRITERS["robust-kbench"](tmp_path)
    done = CliRunner().invoke(list_operators, [str(tmp_path / "relu"), "-f", "json"])
    rows = json.loads(done.stdout)
    assert [(row["problem"], row["trials"], row["candidate"]) for row in rows] == [
        ("relu/forward", 2, "right"),
        ("relu/forward", 2, "wrong"),
        ("relu/forward", 2, "forward.cu"),
        ("relu/backward", 2, "right_backward"),
        ("relu/backward", 2, "wrong_backward"),
    ]
    assert rows[2]["reason"].startswith("CUDA is not compiled here")
    done = CliRunner().invoke(list_operators, [str(tmp_path / "relu")])
    assert "robust-kbench: 2 problems, 4 candidates" in done.stdout


def test_sizes_are_those_that_are_set(tmp_path: Path) -> None:
    WRITERS["robust-kbench"](tmp_path / "tasks")
    done = CliRunner().invoke(list_operators, [str(tmp_path / "tasks"), "--set", "Q=1"])
    assert done.exit_code and "unknown name of --set 'Q'" in str(done.exception)
    done = CliRunner().invoke(list_operators, [str(tmp_path / "tasks"), "--set", "M=2"])
    assert not done.exit_code and "robust-kbench: 19 problems" in done.stdout
    done = CliRunner().invoke(list_operators, ["relu", "--set", "M=2"])
    assert done.exit_code and "--set: it is of a folder of problems" in str(done.exception)


def test_options_on_operators_do_not_apply(tmp_path: Path) -> None:
    WRITERS["GPU MODE"](tmp_path)
    done = CliRunner().invoke(list_operators, [str(tmp_path), "--category", "binary"])
    assert done.exit_code and f"--category does not apply to {tmp_path}" in str(done.exception)
