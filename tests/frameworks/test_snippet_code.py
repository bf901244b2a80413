"""Snippets of Python as functions."""

import inspect

import pytest

from opperf.errors import UsageError
from opperf.model import SnippetTarget

pytest.importorskip("torch")

from opperf.frameworks.torch.snippets import function_of, make_model, variables_of  # noqa: E402


def run(source, setup="", output="", **names):
    target = SnippetTarget("fake", source, setup, name="a/b", output=output)
    return function_of(target, variables_of(target, names))


def test_the_result_is_that_of_the_named_variable():
    assert run("y = x + 1", "x = 2", "y")() == 3
    assert run("y = x + 1", "x = 2")() is None
    assert run("x = 5", output="x")() == 5


def test_variables_of_the_setup_are_kept_from_call_to_call():
    count = run("x += 1", "x = 0", "x")
    assert [count(), count(), count()] == [1, 2, 3]
    numbers = run("numbers.append(len(numbers))\nlast = numbers", "numbers = []", "last")
    numbers()
    assert numbers() == [0, 1]


def test_names_are_found_where_python_has_them():
    assert run("y = sqrt(x)", "from math import *\nx = 4.0", "y")() == 2.0
    assert run("y = [x for x in range(n)]", "n = 3; x = 7", "y")() == [0, 1, 2]
    assert run("y = double(3)", "k = 2\ndef double(x): return k * x", "y")() == 6
    assert run("y = given", output="y", given=8)() == 8
    with pytest.raises(NameError):
        run("y = missing")()


def test_variables_are_read_as_local_ones():
    code = run("x + y", "x = y = 1").__code__
    assert set(code.co_freevars) == {"x", "y"} and not code.co_names


def test_a_model_has_a_source():
    target = SnippetTarget(
        "fake", "y = model(x)", "x = 1", model="def model(x):\n    return x + 1\n"
    )
    namespace = variables_of(target, {})
    model = make_model(target, namespace)
    assert inspect.getsource(model) == target.model and model(1) == 2
    assert namespace["model"] is model


@pytest.mark.parametrize("source", ["x +", "from math import *", "return 1"])
def test_a_statement_that_is_none_is_refused(source):
    with pytest.raises(UsageError, match="a/b"):
        run(source)


def test_a_model_that_is_not_made_is_refused():
    with pytest.raises(UsageError, match="a: its setup makes no variable 'model'"):
        make_model(SnippetTarget("fake", "", name="a", model="modle = 1"), {})
