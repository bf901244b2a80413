"""`pytest tests/conformance --framework NAME` checks the cases of another package's framework."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_framework_of_another_package_is_checked():
    asked = ("tests/conformance", "--framework", "toy", "-p", "no:randomly", "-q", "-rA")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *asked, "-p", "no:cacheprovider"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'tests' / 'toy_framework'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    checked = [line for line in done.stdout.splitlines() if line.startswith("PASSED")]
    assert len(checked) >= 4 and all("[toy" in line for line in checked)
