"""Child processes import this package, and nothing of the directory that opperf is started in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import opperf
from opperf.model import Status
from opperf.worker.client import Worker
from opperf.worker.pristine import PristineServer
from opperf.worker.program import child_variables, module_command

PACKAGE = Path(opperf.__file__).parent

PACKAGES = ("click", "msgspec", "numpy", "psutil", "rich", "scipy", "tabulate")

USERS_OWN = ("copy", "json", "numbers", "queue", "random", "select", "statistics", "tempfile")
"""Names that scripts have, and modules of Python's that Python does not need for `-m` itself."""

WAIT_S = 60
"""How long a process may take, on a busy machine."""


def fill(folder, names):
    """Modules that end whatever imports them."""
    for name in names:
        (folder / f"{name}.py").write_text(f"raise SystemExit('imported {name} of a user')\n")


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """A working directory with a module for every name there is in Python, and some packages."""
    fill(tmp_path, [*sys.stdlib_module_names, *PACKAGES, "opperf", "fake_framework"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_worker_imports_nothing_from_the_working_directory(hostile, variables, make_case):
    with Worker("fake", environment=variables) as worker:
        record = worker.measure(make_case("relu"))
    assert (record.status, record.reason) == (Status.OK, "")


def test_neither_does_the_process_that_memory_is_measured_in(
    hostile, variables, make_case, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", variables["PYTHONPATH"])
    asked = PristineServer("fake")
    try:
        assert asked.wait_until_ready()
        assert asked.peaks(make_case("relu")) is not None
    finally:
        asked.end()


def test_an_empty_part_of_the_path_is_not_the_working_directory(hostile, variables, make_case):
    path = variables["PYTHONPATH"]
    with Worker("fake", environment=variables | {"PYTHONPATH": f":{path}:"}) as worker:
        assert worker.measure(make_case("relu")).status is Status.OK


@pytest.mark.parametrize("path", ["", ":", "::"])
def test_a_path_of_nothing_is_none(path):
    assert child_variables({"PYTHONPATH": path, "HOME": "/"}) == {"HOME": "/"}


def test_a_path_that_is_named_stays():
    assert child_variables({"PYTHONPATH": "a::.:b:"}) == {"PYTHONPATH": "a:.:b"}
    assert child_variables({"HOME": "/"}) == {"HOME": "/"}


def test_a_run_imports_nothing_from_the_working_directory(start, folder):
    fill(folder, [*USERS_OWN, *PACKAGES])
    with start("run", "relu", "--quiet", "-o", "out.json") as process:
        out, err = process.communicate(timeout=WAIT_S)
    assert (process.returncode, err) == (0, ""), out


def test_a_child_runs_this_very_package(tmp_path, monkeypatch):
    """Another one that is installed, or named by PYTHONPATH, is not the one that asks."""
    other = tmp_path / "opperf"
    other.mkdir()
    (other / "__init__.py").write_text("raise SystemExit('another opperf')\n")
    done = subprocess.run(
        module_command("opperf", "--version"),
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert (done.returncode, done.stdout) == (0, f"opperf, version {opperf.__version__}\n")


def test_an_interrupt_while_the_command_line_is_imported(tmp_path):
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    done = subprocess.run(
        [sys.executable, "-m", "opperf", "list"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), str(tmp_path)])},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
