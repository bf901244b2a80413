"""Each kind of extension as CONTRIBUTING describes it, pasted into a package: it works by its one
entry point, whatever else of opperf stays as it is."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from opperf.model import Status
from opperf.results.runfile import read_run

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

PAGE_LINES = 50
"""Lines of a printed page."""

KINDS = ("a source", "a framework", "an instrument", "a format", "an executor", "a command")

BRIEFLY = ("--size", "small", "-w", "0", "-r", "8", "--max-configs", "1")
ADD = ("run", "add", "--framework", "numpy", "--threads", "1", *BRIEFLY)
"""With more threads, a case that waited for a core is measured again, by a second worker."""


def section(kind):
    """Returns the section of the page on a kind of extension."""
    (found,) = re.findall(rf"^## Add {kind}\n.*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    return found


def block(kind, language):
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", section(kind), re.MULTILINE | re.DOTALL)
    return found


def install(kind, folder):
    """Installs a package that has the section's code alone."""
    group, declared = re.fullmatch(
        r'\[project\.entry-points\."(\S+)"\]\n(.*)\n', block(kind, "toml")
    ).groups()
    name, module, attribute = re.fullmatch(r'(\w+) = "my_package\.(\w+):(\w+)"', declared).groups()
    package, metadata = folder / "my_package", folder / "my_package-1.0.dist-info"
    package.mkdir()
    (package / f"{module}.py").write_text(block(kind, "python"))
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: my_package\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[{group}]\n{name} = my_package.{module}:{attribute}\n"
    )


@pytest.fixture
def opperf(request, tmp_path):
    """opperf in a folder of its own, beside the package of one kind of extension."""
    install(request.param, tmp_path)
    paths = [str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")]
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "HOME": str(tmp_path)}

    def called(*words, code=0):
        done = subprocess.run(
            [sys.executable, "-m", "opperf", *words],
            cwd=tmp_path,
            env=os.environ | variables,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout or done.stderr

    called.folder = tmp_path
    return called


def of(kind):
    return pytest.mark.parametrize("opperf", [kind], indirect=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_describes_it(kind):
    assert section(kind).count("\n") <= PAGE_LINES


@of("a source")
def test_a_source(opperf):
    (opperf.folder / "shapes.txt").write_text("operator shapes\nexp 4 5\nlog 3\n")
    opperf("run", "shapes.txt", "-w", "0", "-r", "2", "-o", "a.jsonl")
    run, _ = read_run(opperf.folder / "a.jsonl")
    found = [
        (record.case.label, record.case.arguments["x"].shape, record.case.origin, record.status)
        for record in run.records
    ]
    assert found == [
        ("exp", (4, 5), "shapes.txt:2", Status.OK),
        ("log", (3,), "shapes.txt:3", Status.OK),
    ]


@of("a framework")
def test_a_framework(opperf):
    opperf("run", "--framework", "lists", *BRIEFLY, "--dtype", "float64", "-o", "a.jsonl")
    run, _ = read_run(opperf.folder / "a.jsonl")
    (record,) = run.records
    assert (record.case.label, record.status) == ("double", Status.OK)
    assert len(record.samples["forward"]) == 8
    assert "double" in opperf("list", "--framework", "lists")


@of("an instrument")
def test_an_instrument(opperf):
    assert "Bandwidth" in opperf(*ADD, "-o", "a.jsonl")
    opperf("export", "a.jsonl", "--to", "csv", "-o", "a.csv")
    assert "bandwidth_median_GB/s" in (opperf.folder / "a.csv").read_text()
    compared = opperf("compare", "a.jsonl", "a.jsonl", "--metric", "bandwidth")
    assert "bandwidth: 1 case in common" in compared


@of("a format")
def test_a_format(opperf):
    opperf(*ADD, "-o", "a.tsv")
    (row,) = (opperf.folder / "a.tsv").read_text().splitlines()
    assert row.endswith("\tadd\tok")
    opperf(*ADD, "-o", "a.jsonl")
    assert "Operator\tTime " in opperf("report", "a.jsonl", "-f", "tsv")


@of("an executor")
def test_an_executor(opperf):
    assert "executor cluster" in opperf(*ADD, "--executor", "cluster", "-o", "a.jsonl")
    run, _ = read_run(opperf.folder / "a.jsonl")
    assert [record.status for record in run.records] == [Status.OK]


@of("a command")
def test_a_command(opperf):
    (opperf.folder / "bad.py").write_text("def broken():\n    raise ValueError('of no use')\n")
    opperf(
        "run",
        "bad.py:broken",
        "--framework",
        "numpy",
        "-w",
        "0",
        "-r",
        "1",
        "-o",
        "a.jsonl",
        code=1,
    )
    assert "broken: failed: " in opperf("failures", "a.jsonl", code=1)
    assert opperf("failures", "a.jsonl", "--only", "timeout") == ""
    assert "Print why cases of a run were not measured." in opperf("--help")
    assert "--only" in opperf("help", "failures")
    assert "failures has no option --onyl; did you mean" in opperf("failures", "--onyl", code=2)
