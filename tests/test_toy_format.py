"""A format of another package, in every command that writes one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOY = Path(__file__).parent / "toy_format"
ROOT = Path(__file__).parents[1]

COUNTS = ("--size", "small", "-w", "0", "-r", "8", "--max-configs", "1")
BRIEFLY = ("--framework", "numpy", "--threads", "1", *COUNTS)
"""With more threads, a case that waited for a core is measured again, by a second worker."""


@pytest.fixture
def opperf(tmp_path):
    """opperf in a folder of its own, as if the toy's package were installed."""
    path = os.pathsep.join([str(TOY), str(ROOT), os.environ.get("PYTHONPATH", "")])
    variables = os.environ | {"PYTHONPATH": path.strip(os.pathsep), "HOME": str(tmp_path)}

    def called(*arguments, code=0):
        done = subprocess.run(
            [sys.executable, "-m", "opperf", *arguments],
            cwd=tmp_path,
            env=variables,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    called.folder = tmp_path
    return called


def test_its_extension_or_its_name_chooses_it(opperf):
    opperf("run", "add", *BRIEFLY, "-o", "a.tsv")
    header, row = (opperf.folder / "a.tsv").read_text().splitlines()
    assert header == "id\toperator\tstatus" and row.endswith("\tadd\tok")
    opperf("run", "add", *BRIEFLY, "-o", "a.jsonl")
    opperf("run", "add", *BRIEFLY, "-o", "b.jsonl")
    assert opperf("export", "a.jsonl", "--to", "tsv") == f"{header}\n{row}\n"
    assert "Operator\tTime " in opperf("report", "a.jsonl", "-f", "tsv")
    opperf("compare", "a.jsonl", "b.jsonl", "-o", "c.tsv")
    compared = (opperf.folder / "c.tsv").read_text()
    assert "Operator\tInputs\tRatio\t" in compared and "\nadd\tx1: (64, 64), x2" in compared


def test_a_near_name_is_suggested(opperf):
    said = opperf("compare", "a.jsonl", "b.jsonl", "-f", "tvs", code=2)
    assert "'tvs' is not one of" in said and "did you mean" in said and "tsv" in said
