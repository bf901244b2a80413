"""Definitions of snippets, and what is wrong with one."""

import enum
import re
from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.snippets import GroupedModules, GroupedSetup, GroupedStmts, TimerArgs
from opperf.snippets.definitions import caller

HERE = Path(__file__)


def line_of(text):
    """The line of this file that has the text, apart from this call's own."""
    lines = HERE.read_text().splitlines()
    (number,) = (i for i, line in enumerate(lines, 1) if text in line and "line_of(" not in line)
    return number


def test_a_definition_knows_its_line():
    made = GroupedStmts("x + 1", setup="x = 1")
    assert made.place == (str(HERE), caller().line - 1)
    assert TimerArgs("pass").place.line == caller().line


def test_texts_may_be_indented_as_the_code_around_them():
    setup = GroupedSetup(
        """
        x = 1
        if x:
            y = 2
        """,
        "int x = 1;",
    )
    assert setup.py_setup.strip() == "x = 1\nif x:\n    y = 2"
    assert GroupedStmts("    x + 1", "    x + 1;", setup=setup).cpp_stmt == "x + 1;"


def test_a_statement_becomes_a_function_for_torchscript():
    made = GroupedStmts(
        "y = x + 1\nz = y * 2", setup="x = 1", signature="f(x) -> z", torchscript=True
    )
    assert made.py_model == "def model(x):\n    y = x + 1\n    z = y * 2\n    return z\n"
    none = GroupedStmts("x.add_(1)", setup="x = 1", signature="f(x) -> None", torchscript=True)
    assert none.py_model == "def model(x):\n    x.add_(1)\n"


def test_a_model_is_called_by_its_signature():
    made = GroupedModules(
        "model = abs", "auto model = torch::nn::ReLU();", setup="x = 1", signature="f(x) -> y"
    )
    assert (made.py_stmt, made.cpp_stmt) == ("y = model(x)", "auto y = model->forward(x);")


class Language(enum.Enum):
    """As PyTorch has it."""

    PYTHON = 0
    CPP = 1


@pytest.mark.parametrize(
    ("given", "meant"),
    [("python", "python"), ("py", "python"), ("C++", "c++"), ("cpp", "c++")]
    + [(Language.PYTHON, "python"), (Language.CPP, "c++")],
)
def test_a_language_has_several_names(given, meant):
    assert TimerArgs("", language=given).language == meant


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: GroupedStmts(), "a group without a statement"),
        (lambda: GroupedStmts("x +", setup="x = 1"), "statement: invalid syntax, in 'x +'"),
        (lambda: GroupedStmts("x", setup="x ="), "setup: invalid syntax"),
        (lambda: GroupedStmts("return 1"), "statement: 'return' outside function"),
        (lambda: TimerArgs("x +"), "statement: invalid syntax"),
        (lambda: TimerArgs("x", language="rust"), "unknown language 'rust'; use"),
        (lambda: TimerArgs("x", num_threads=0), "num_threads is (0,)"),
        (lambda: TimerArgs("x", num_threads=(1, 2)), "num_threads is ((1, 2),)"),
        (lambda: GroupedStmts("x", num_threads=()), "num_threads is ()"),
        (lambda: GroupedStmts("y = x", signature="g(x) -> y"), "unknown signature 'g(x) -> y'"),
        (lambda: GroupedStmts("y = x", signature="f(x) -> y, z"), "unknown signature"),
        (lambda: GroupedStmts("y = x", signature="f(x,) -> y"), "unknown signature"),
        (lambda: GroupedStmts("y = x", signature="f(1) -> y"), "unknown signature"),
        (
            lambda: GroupedStmts("y = x", setup="x = 1", signature="f(w) -> y"),
            "the signature takes 'w', which the setup does not make",
        ),
        (
            lambda: GroupedStmts("y = x", setup="x = 1", signature="f(x) -> z"),
            "the signature returns 'z', to which the statement assigns nothing",
        ),
        (lambda: GroupedStmts("x", torchscript=True), "torchscript needs a signature"),
        (lambda: GroupedStmts("x", autograd=True), "autograd needs a signature"),
        (
            lambda: GroupedStmts("x", setup="x = 1", signature="f(x) -> None", autograd=True),
            "autograd needs a result",
        ),
        (
            lambda: GroupedStmts(cpp_stmt="x;", signature="f() -> None", torchscript=True),
            "torchscript needs the statement in Python",
        ),
        (lambda: GroupedModules("model = abs"), "a model needs a signature"),
        (lambda: GroupedModules("m = abs", signature="f() -> y"), "makes no variable 'model'"),
        (lambda: GroupedModules(signature="f() -> y"), "no model in Python"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_line(made, words):
    with pytest.raises(UsageError) as refused:
        made()
    message = str(refused.value)
    assert re.match(rf"{re.escape(str(HERE))}:\d+: ", message), message
    assert words in message and "\n" not in message


def test_a_syntax_error_is_at_its_own_line_in_the_file():
    with pytest.raises(UsageError) as refused:
        GroupedStmts(
            """
            y = 1
            y = = 2  # wrong
            """
        )
    assert str(refused.value).startswith(f"{HERE}:{line_of('# wrong')}: ")


def test_names_from_a_module_may_be_any():
    setup = "from math import *"
    made = GroupedStmts("y = pi", setup=setup, signature="f(pi) -> y")
    assert made.signature.inputs == ("pi",)
