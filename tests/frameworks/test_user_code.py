"""A user's own functions, objects and snippets as targets."""

import math
import sys

import pytest

from opperf.errors import UnknownOperatorError, UsageError
from opperf.frameworks.paths import find
from opperf.frameworks.user_code import function_of, imports_in_script, target_at
from opperf.model import CallableTarget, FileTarget, ObjectTarget, SnippetTarget

NAMES = {"math": math}


def found(target):
    return function_of(target, lambda path: find(path, "Math", NAMES), NAMES)


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    folder = tmp_path / "own"
    folder.mkdir()
    path = folder / "random.py"
    path.write_text(
        "import opperf_test_helper\n\n\ndef twice(x):\n    return opperf_test_helper.factor * x\n\n"
        "class Layer:\n    @staticmethod\n    def half(x):\n        return x / 2\n\nvalue = 3\n"
    )
    (folder / "opperf_test_helper.py").write_text("factor = 2\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return path


def test_a_function_is_found_by_the_path_of_its_file(kernels):
    target = target_at("fake", f"{kernels}:twice")
    assert target == FileTarget("fake", str(kernels), "twice")
    assert found(target)(4) == 8
    assert found(FileTarget("fake", str(kernels), "Layer.half"))(3) == 1.5


def test_a_file_takes_no_modules_place(kernels):
    import random

    found(FileTarget("fake", str(kernels), "twice"))
    assert sys.modules["random"] is random and random.random() < 1


def test_a_module_in_the_working_directory_is_its_file(kernels, monkeypatch):
    monkeypatch.chdir(kernels.parent)
    assert target_at("fake", "random:twice") == FileTarget("fake", "random.py", "twice")


def test_an_installed_module_is_imported():
    target = target_at("fake", "json.decoder:JSONDecoder")
    assert target == CallableTarget("fake", "json.decoder:JSONDecoder")
    import json

    assert found(target) is json.JSONDecoder


@pytest.mark.parametrize("text", ["nd.add", "relu", "aten::add", "add.Tensor", "re:^a"])
def test_other_names_are_the_frameworks(text):
    assert target_at("fake", text) is None


def test_another_path_is_looked_up_by_the_framework():
    assert found(CallableTarget("fake", "math.sqrt")) is math.sqrt


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}:twise", "has no 'twise'; did you mean twice"),
        ("{}:value", "'value' of .* is not callable"),
        ("/no/such/file.py:f", "/no/such/file.py: no such file"),
        ("no_such_module_of_mine:f", "name its file: path/to/no_such_module_of_mine.py:f"),
    ],
)
def test_what_is_not_there_is_said_with_where(kernels, text, words):
    with pytest.raises(UnknownOperatorError, match=words):
        found(target_at("fake", text.format(kernels)))


def test_a_file_that_fails_says_how(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("1 / 0\n")
    with pytest.raises(UsageError, match="broken.py:1 cannot be loaded: ZeroDivisionError"):
        found(FileTarget("fake", str(path), "f"))


def test_an_object_is_built_before_it_is_called(kernels):
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return self.factor * x

    built = function_of(
        ObjectTarget("fake", "own.Scale", {"factor": 3}), lambda path: Scale, {"own": None}
    )
    assert built(4) == 12


def test_a_snippet_runs_after_its_setup_and_gives_its_last_value():
    target = SnippetTarget("fake", "y = root(x)\ny + 1", setup="from math import sqrt as root")
    assert found(target)(x=9) == 4.0
    assert found(SnippetTarget("fake", "math.floor(x)"))(x=2.5) == 2
    assert found(SnippetTarget("fake", "y = x"))(x=2.5) is None


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (SnippetTarget("fake", "x +"), "x \\+: invalid syntax"),
        (SnippetTarget("fake", "x", language="c++"), "no framework here runs c\\+\\+"),
    ],
)
def test_a_snippet_that_cannot_run_is_refused(target, words):
    with pytest.raises(UsageError, match=words):
        found(target)


def test_a_script_imports_a_users_modules_and_keeps_what_a_file_defines(kernels, monkeypatch):
    found = imports_in_script((str(kernels), "json.decoder"))
    assert found == ["import runpy", f"module0 = runpy.run_path({str(kernels)!r})"] + [
        "import json.decoder"
    ]
    monkeypatch.chdir(kernels.parent)
    assert imports_in_script(("random",)) == found[:2]
    assert imports_in_script(()) == []
