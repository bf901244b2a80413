"""MXNet's needs of NumPy and of Python, met or said, with a package in MXNet's place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opperf import numpy_aliases

ROOT = Path(__file__).resolve().parents[1]

MXNET = """
import numpy
names = {name: vars(numpy)[name] for name in ("bool", "int", "float", "complex", "object", "str")}
"""


@pytest.fixture
def python(tmp_path):
    """Runs code where `mxnet` is a small package and NumPy says that it is of some version; gives
    what the code prints."""
    (tmp_path / "mxnet").mkdir()
    (tmp_path / "mxnet" / "__init__.py").write_text(MXNET)

    def run(code, numpy="1.26.4"):
        (tmp_path / "numpy.py").write_text(f"__version__ = {numpy!r}\n")
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture
def has_distutils(monkeypatch):
    """A Python with distutils of its own."""
    monkeypatch.setattr(sys, "version_info", (3, 11, 0, "final", 0))


def test_the_names_are_there_when_mxnet_is_imported(python, tmp_path):
    (tmp_path / "setuptools.py").write_text("")
    assert python("import opperf, mxnet; print(mxnet.names['object'])") == "<class 'object'>"


def test_numpy_is_left_alone_until_mxnet_is_imported(python):
    code = (
        "import opperf, numpy, importlib.util; "
        "found = importlib.util.find_spec('mxnet') is not None; "
        "print(found, 'object' in vars(numpy))"
    )
    assert python(code) == "True False"


@pytest.mark.parametrize("code", ["import mxnet", "import mxnet.ndarray"])
def test_numpy_2_is_said_in_one_line(python, code):
    caught = python(
        f"import opperf\ntry:\n    {code}\nexcept ImportError as error:\n    print(error)",
        numpy="2.3.1",
    )
    assert caught.startswith("MXNet needs NumPy below 2, not 2.3.1: ")


def test_without_mxnet_its_import_fails_as_ever(python, tmp_path):
    (tmp_path / "mxnet" / "__init__.py").unlink()
    (tmp_path / "mxnet").rmdir()
    code = "import sys; sys.path = [p for p in sys.path if 'site-packages' not in p]\n"
    caught = python(
        f"{code}import opperf\ntry:\n    import mxnet\n"
        "except ModuleNotFoundError as error:\n    print(error)",
        numpy="2.3.1",
    )
    assert caught == "No module named 'mxnet'"


@pytest.mark.usefixtures("has_distutils")
@pytest.mark.parametrize(
    ("version", "obstacle"),
    [
        ("1.26.4", ""),
        ("unknown", ""),
        ("2.0.0", "needs NumPy below 2, not 2.0.0: pip install 'numpy<2'"),
        ("10.1", "needs NumPy below 2, not 10.1: pip install 'numpy<2'"),
    ],
)
def test_what_stands_in_mxnets_way(version, obstacle):
    assert numpy_aliases.obstacle(version) == obstacle


def test_a_python_that_no_such_numpy_is_for(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 13, 0, "final", 0))
    assert numpy_aliases.obstacle("2.1.0") == (
        "needs NumPy below 2, not 2.1.0: use Python 3.12 or earlier, which has one"
    )


def test_a_python_without_distutils(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 12, 0, "final", 0))
    found = {"setuptools": None}
    monkeypatch.setattr(numpy_aliases.PathFinder, "find_spec", found.get)
    assert numpy_aliases.obstacle("1.26.4") == (
        "needs distutils, which Python from 3.12 on lacks: pip install setuptools"
    )
    found["setuptools"] = "is there"
    assert numpy_aliases.obstacle("1.26.4") == ""
