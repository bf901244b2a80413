"""Whether arms have loaded different files, where they should."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opperf.comparison.ab.arms import arm_spec
from opperf.comparison.ab.loaded import are_builds, check_loaded
from opperf.errors import UsageError
from opperf.model import LoadedFile, Role
from opperf.worker.protocol import Loaded
from tests.jobs import KERNEL, make_job, write_package

MODULE = LoadedFile("pkg.k", "/repository/pkg/k.py", "1", Role.MEASURED)
OTHER = LoadedFile("pkg.k", "/base/pkg/k.py", "1", Role.MEASURED)
FRAMEWORK = LoadedFile("numpy", "/numpy/__init__.py", "2")
FILE = LoadedFile("k.py", "/repository/k.py", "3", Role.NAMED)

PYTHONS = (f"python:{sys.executable}",), ()
PATHS = ("env:PYTHONPATH=/base",), ("env:PYTHONPATH=/head",)
LIBRARIES = ("env:LD_LIBRARY_PATH=/base",), ("env:LD_LIBRARY_PATH=/head",)
SETTINGS = ("threads:1", "env:OMP_NUM_THREADS=1"), ("threads:2",)
BUILDS = (PYTHONS, PATHS)


def checked(words, a, b, libraries=("same", "same")):
    first, second = words
    arms = {"A": arm_spec(first, "--a"), "B": arm_spec(second, "--b")}
    return check_loaded(arms, {"A": Loaded(a, libraries[0]), "B": Loaded(b, libraries[1])})


@pytest.mark.parametrize("words", BUILDS)
def test_builds_that_load_the_same_file_of_a_module_are_refused(words):
    with pytest.raises(UsageError, match=r"same file of pkg.k, /repository/pkg/k.py") as found:
        checked(words, (FRAMEWORK, MODULE), (FRAMEWORK, MODULE))
    assert "\n" not in str(found.value)
    assert checked(words, (FRAMEWORK, OTHER), (FRAMEWORK, MODULE)) == ""


@pytest.mark.parametrize("words", [SETTINGS, LIBRARIES])
def test_other_arms_may_load_the_same_module(words):
    assert are_builds([arm_spec(own, "--a") for own in words]) is (words is LIBRARIES)
    assert checked(words, (MODULE,), (MODULE,), ("a", "b")) == ""


@pytest.mark.parametrize("beside", [(), (LoadedFile("kernels", "/repository/kernels.py", "4"),)])
def test_paths_that_lead_to_nothing_are_refused(beside):
    both = (FRAMEWORK, FILE, *beside)
    with pytest.raises(UsageError, match="nothing that the path of one alone leads to") as found:
        checked(PATHS, both, both)
    assert all(one.name in str(found.value) for one in beside)
    # A file with the calls of what differs.
    own = [LoadedFile("kernels", f"/{arm}/kernels.py", arm) for arm in ("base", "head")]
    assert checked(PATHS, (*both, own[0]), (*both, own[1])) == ""


@pytest.mark.parametrize("words", [PYTHONS, LIBRARIES])
def test_builds_that_load_nothing_that_differs_are_said(words):
    both = (FRAMEWORK, FILE)
    said = checked(words, both, both)
    assert "same numpy (/numpy/__init__.py), k.py (/repository/k.py)" in said
    assert checked(words, both, both, ("a", "b")) == ""
    assert checked(words, both, (FRAMEWORK,)) == ""


SLOWER = KERNEL.replace("return", "for _ in range(40):\n        x * x\n    return")


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Runs the command of docs/tasks/gate.md in a repository, with no environment but these; its
    exit code, and what it says."""
    make_job(tmp_path, ("base", "head"))
    monkeypatch.chdir(tmp_path)
    options = (
        "my_package.kernels:gelu --framework numpy --inputs benchmarks/inputs.py:gelu "
        "--a python:base/bin/python --b python:head/bin/python "
        "--control-blocks 2 --blocks 2 --threads 1 --case-time 0.005 --quiet"
    )

    def run(*more):
        done = subprocess.run(
            [sys.executable, "-m", "opperf", "ab", *options.split(), *more],
            env={**os.environ, "PYTHONPATH": "", "PYTHONSAFEPATH": "1"},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stderr

    return run


def packages(name):
    (found,) = Path(name).absolute().glob("lib/*/site-packages")
    return found


def test_the_change_of_an_environment_is_found_inside_the_repository(job):
    write_package(packages("head"), SLOWER)
    code, said = job("-o", "verdict.json", "-o", "verdict.md")
    assert code == 1, said
    found = json.loads(Path("verdict.json").read_text())
    assert found["rows"][0]["ratio"] > 5
    files = {
        arm: side["loaded"][-1]["file"]
        for arm, side in zip(found["labels"], found["sides"], strict=True)
    }
    own = {"A": packages("base"), "B": packages("head")}
    assert files == {arm: str(folder / "my_package/kernels.py") for arm, folder in own.items()}
    assert files["B"] in Path("verdict.md").read_text()
    record = next(
        line
        for line in map(json.loads, Path("opperf_ab.jsonl").read_text().splitlines())
        if line["line"] == "record"
    )
    assert record["loaded"][0]["file"] in files.values()


def test_an_environment_without_the_package_has_not_that_of_the_repository(job):
    for name in ("base", "head"):
        for file in packages(name).glob("my_package/*.py"):
            file.unlink()
        packages(name).joinpath("my_package").rmdir()
    code, said = job()
    assert code == 2
    assert "No module named 'my_package'" in said and said.count("\n") == 1
    for name in ("base", "head"):
        packages(name).joinpath("editable.pth").write_text(f"{Path.cwd()}\n")
    code, said = job()
    assert code == 2
    assert "A and B load the same file of my_package.kernels" in said and said.count("\n") == 1
