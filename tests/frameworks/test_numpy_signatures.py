"""What a function takes, from the forms NumPy tells it in."""

import inspect

import numpy as np
import pytest

from opperf.frameworks.numpy import signatures


def test_a_docstring_that_begins_with_the_call():
    found = signatures.parse_docstring("dot(a, b, out=None)\n\nDot product.")
    assert list(found) == ["a", "b", "out"]
    assert found["a"].default is inspect.Parameter.empty
    assert found["out"].default is None


def test_a_call_over_two_lines():
    found = signatures.parse_docstring("f(mean, cov,\n  tol=1e-8, *, method='svd')\n\nText (more).")
    assert found["tol"].default == 1e-8
    assert found["method"].kind is inspect.Parameter.KEYWORD_ONLY


def test_positional_only():
    found = signatures.parse_docstring("bincount(x, /, weights=None, minlength=0)")
    assert found["x"].kind is inspect.Parameter.POSITIONAL_ONLY
    assert found["minlength"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD


def test_a_default_that_is_best_left_out():
    found = signatures.parse_docstring("reduce(array, axis=0, initial=<no value>, where=True)")
    assert list(found) == ["array", "axis", "initial", "where"]


def test_a_default_that_is_no_literal_is_kept_as_text():
    assert signatures.parse_docstring("f(dtype=np.int64)")["dtype"].default == "np.int64"


@pytest.mark.parametrize(
    "text", ["", "Draws numbers (many).", "f(a", "where(condition, [x, y], /)", "f(a b)"]
)
def test_a_docstring_that_tells_nothing_readable(text):
    assert not signatures.parse_docstring(text)


def test_a_ufunc_of_three_inputs_tells_nothing():
    assert not signatures.parameters("f", np.frompyfunc(lambda a, b, c: a, 3, 1))


def test_a_python_function():
    assert list(signatures.parameters("f", lambda x, y=1: x)) == ["x", "y"]
