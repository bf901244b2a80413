"""The framework that `make run` measures, its word if that is not MXNet, and whose PyTorch."""

import subprocess
import sys
import venv
from importlib.machinery import ModuleSpec

import pytest

from opperf.frameworks import is_available, load
from opperf.sources.selecting import Selection, select
from tools import share_torch, short_benchmark


@pytest.mark.parametrize("framework", sorted(short_benchmark.OPERATORS))
def test_the_operators_are_registered(framework):
    if not is_available(framework):
        pytest.skip(f"{framework} is not installed")
    names = short_benchmark.OPERATORS[framework]
    loaded = load(framework)
    found = select(
        list(loaded.operators()), Selection(patterns=names), tuple(loaded.naming.function_paths())
    )
    assert len(found) >= len(names) == 5


def test_mxnet_needs_no_word():
    assert short_benchmark.choice("mxnet") == ""


@pytest.mark.parametrize(
    ("running", "why"),
    [
        ((3, 11, 7), "MXNet is not installed on this Python 3.11: measured is numpy 1"),
        ((3, 13, 0), "MXNet needs Python below 3.13, not 3.13: measured is numpy 1"),
    ],
)
def test_what_is_measured_in_place_of_mxnet(monkeypatch, running, why):
    monkeypatch.setattr(sys, "version_info", running)
    monkeypatch.setattr(short_benchmark, "package_version", lambda name: "1")
    said = short_benchmark.choice("numpy")
    assert said.startswith(why) and "make run PYTHON=python3.12" in said and "\n" not in said


@pytest.mark.parametrize(("running", "is_shared"), [((3, 12, 9), False), ((3, 13, 0), True)])
def test_the_interpreters_own_torch_is_shared_where_mxnet_does_not_run(
    monkeypatch, tmp_path, running, is_shared
):
    packages = tmp_path / "packages"
    (packages / "torch").mkdir(parents=True)
    (packages / "torch" / "__init__.py").write_text("OWN = True")
    venv.create(tmp_path / "made", symlinks=True)
    spec = ModuleSpec("torch", None, origin=str(packages / "torch" / "__init__.py"))
    monkeypatch.setattr(share_torch.importlib.util, "find_spec", lambda name: spec)
    monkeypatch.setattr(sys, "version_info", running)
    share_torch.share(tmp_path / "made")
    python = tmp_path / "made" / "bin" / "python"
    done = subprocess.run([python, "-c", "import torch; assert torch.OWN"], capture_output=True)
    assert (done.returncode == 0) is is_shared
