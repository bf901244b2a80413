"""The path of a case: CONTRIBUTING lists the modules that hand it on, and there are few."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOOK = ROOT / "tests" / "fake" / "case_path"

MOST = 15

RECORDED = "Operator: aten.mm.default\ncnt: 2, ((T([8, 4], f32), T([4, 2], f32)), {})\n"


def passed(folder, *words):
    """Returns the modules that a case passes from the command line to the framework's call."""
    seen = folder / "seen"
    seen.mkdir()
    paths = [str(HOOK), str(ROOT), os.environ.get("PYTHONPATH", "")]
    variables = {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "OPPERF_CASE_PATH": str(seen),
        "OPPERF_PACKAGE": str(ROOT / "opperf"),
        "HOME": str(folder),
    }
    subprocess.run(
        [sys.executable, "-m", "opperf", "run", *words, "--quick", "--quiet"],
        cwd=folder,
        env=os.environ | variables,
        check=True,
    )
    return {line for file in seen.iterdir() for line in file.read_text().splitlines()}


def listed(command):
    """Returns the modules of a command's path on the page, in its order."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"^## The path of a case\n(.*?)^## ", page, re.DOTALL | re.MULTILINE)
    (path,) = re.findall(rf"^### `{re.escape(command)}`\n(.*?)(?=^### |\Z)", section, re.S | re.M)
    return re.findall(r"^\d+\. `opperf/([\w/]+\.py)`", path, re.MULTILINE)


def test_a_case_of_an_operator(tmp_path):
    pytest.importorskip("mxnet")
    path = listed("opperf run relu")
    few = ("--framework", "mxnet", "--max-configs", "1")
    assert passed(tmp_path, "relu", *few) == set(path)
    assert len(path) <= MOST


def test_a_case_of_a_recording(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "recorded.txt").write_text(RECORDED)
    path = listed("opperf run recorded.txt")
    assert passed(tmp_path, "recorded.txt") == set(path)
    # A worker completes what the file has.
    assert len(path) <= MOST + 1
