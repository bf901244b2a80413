"""Every example in the documentation runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

NOT_RUN = ("pip install", "make ", "git clone")
"""Beginnings of commands that install or run everything; CI itself starts with them."""

WHOLE_REGISTRY = {"opperf --output-format json --output-file results.json"}
"""Commands that measure everything: they are planned in full, and not carried out."""


MEASURING = re.compile(
    r"opperf (run )?(?!list|show|coverage|compare|plot|export|ab|doctor|frameworks)"
)
"""Commands that measure, for as long as their figures take to settle."""

BRIEFLY = " --max-time 0.01"
"""What such a command is given besides: what it says and writes is the same."""


def blocks(language):
    """Every code block of a language, with where it is."""
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in re.finditer(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            line = text[: match.start()].count("\n") + 1
            found.append(pytest.param(match.group(1), id=f"{page.name}:{line}"))
    return found


def run(arguments, folder):
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_are_examples():
    assert len(blocks("sh")) >= 3 and len(blocks("python")) >= 3


@pytest.mark.parametrize("block", blocks("sh"))
def test_commands(block, tmp_path):
    for line in block.replace("\\\n", " ").splitlines():
        command = line.partition("  #")[0].strip()
        if not command or command.startswith(("#", *NOT_RUN)):
            continue
        if command in WHOLE_REGISTRY or " ".join(command.split()[2:]) in {
            " ".join(known.split()[1:]) for known in WHOLE_REGISTRY
        }:
            command += " --dry-run"
        elif MEASURING.match(command) and not re.search(r" -r | --(quick|list|resume)\b", command):
            command += BRIEFLY
        run(
            ["sh", "-c", command.replace("opperf/opperf.py", str(ROOT / "opperf/opperf.py"))],
            tmp_path,
        )


@pytest.mark.parametrize("block", blocks("python"))
def test_python(block, tmp_path):
    output = run([sys.executable, "-c", block], tmp_path)
    assert "print(" not in block or output.strip()
