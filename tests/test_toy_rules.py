"""Rules from outside: of another package, and of a file that is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opperf.frameworks import is_available

TOY = Path(__file__).parent / "toy_rules"
ROOT = Path(__file__).parents[1]


@pytest.fixture
def opperf(tmp_path):
    """opperf in a folder of its own, as if the toy's package were installed."""
    path = os.pathsep.join([str(TOY), str(ROOT), os.environ.get("PYTHONPATH", "")])
    variables = os.environ | {"PYTHONPATH": path.strip(os.pathsep), "HOME": str(tmp_path)}

    def called(*arguments, code=0, also=TOY):
        done = subprocess.run(
            [sys.executable, "-m", "opperf", *arguments],
            cwd=tmp_path,
            env=variables | {"PYTHONPATH": os.pathsep.join([variables["PYTHONPATH"], str(also)])},
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    called.folder = tmp_path
    return called


def test_a_package_adds_configurations(opperf):
    found = opperf("run", "add", "--framework", "numpy", "--list")
    assert "rule:more_rules.odd" in found and "x1: (3, 77), x2: (3, 77)" in found


def test_a_package_that_cannot_be_loaded(opperf):
    made = opperf.folder / "broken-1.dist-info"
    made.mkdir()
    (made / "entry_points.txt").write_text("[opperf.rules]\nnumpy = broken_rules\n")
    said = opperf("run", "add", "--framework", "numpy", "--list", code=2, also=opperf.folder)
    assert "broken_rules, an entry point of the group opperf.rules, cannot be loaded" in said


@pytest.mark.skipif(not is_available("torch"), reason="PyTorch is not installed")
def test_a_file_has_a_users_operator_and_its_rule(opperf):
    own = ("toylib::twice", "--framework", "torch", "--import", str(TOY / "twice.py"))
    opperf("run", *own, "-w", "0", "-r", "1", "--size", "small", "-o", "out.json")
    results = json.loads((opperf.folder / "out.json").read_text())["toylib::twice"]
    assert [one["inputs"] for one in results] == [
        {"x": [2, 768], "by": 2.0},
        {"x": [3, 5], "by": 0.5},
    ]
    assert all("backward_median_ms" in one for one in results)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ('yield {"x1": tensr(3)}', ":6: NameError: name 'tensr' is not defined, in a rule for the"),
        ("return 3", ":4: TypeError: 'int' object is not iterable"),
        ("return [3]", ":4: the rule for the operator add makes 3, not a dict of arguments"),
    ],
)
def test_an_error_in_a_file_of_rules_names_the_line(opperf, rule, message):
    (opperf.folder / "mine.py").write_text(
        "from opperf.rules.numpy import FAMILIES\n\n\n"
        f'@FAMILIES.also("add")\ndef own(operator, size):\n    {rule}\n'
    )
    said = opperf("run", "add", "--framework", "numpy", "--import", "mine.py", "--list", code=2)
    assert f"mine.py{message}" in said and len(said.strip().splitlines()) == 1
