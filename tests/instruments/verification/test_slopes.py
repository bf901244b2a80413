"""Gradients beside the slopes of functions whose derivatives are known."""

import numpy as np
import pytest

from opperf.instruments.verification.nearness import SINGLE, Allowed
from opperf.instruments.verification.slopes import compare_gradient

DRAW = np.random.default_rng(5)
SMALL, LARGE = DRAW.standard_normal(12), DRAW.standard_normal((64, 50))


def checked(gradient, x, function, way="differences"):
    heads = [np.ones_like(one) for one in function(x)]
    single = np.asarray(gradient, "float32").astype("float64")
    return compare_gradient(single, x, function, heads, way, Allowed(SINGLE, 1), 0)


@pytest.mark.parametrize("x", [SMALL, LARGE])
@pytest.mark.parametrize(
    "way, function, derivative",
    [
        ("exact", lambda x: [x * x + 2 * x], lambda x: 2 * x + 2),
        ("complex", lambda x: [np.exp(x)], np.exp),
        ("differences", lambda x: [np.tanh(x)], lambda x: 1 - np.tanh(x) ** 2),
        ("differences", lambda x: [np.abs(x), np.sum(x**3)], lambda x: np.sign(x) + 3 * x**2),
    ],
)
def test_a_right_gradient_passes_and_a_wrong_one_does_not(x, way, function, derivative):
    right = derivative(x)
    found = checked(right, x, function, way)
    assert found.comparison.is_equal, found.comparison.reason
    assert found.kinked < found.directions
    for wrong in (1.001 * right, 2 * right, -right, np.zeros_like(right), right[::-1]):
        assert not checked(wrong, x, function, way).comparison.is_equal
    for place in (0, x.size // 2, x.size - 1):
        wrong = right.copy()
        wrong.flat[place] += 0.1 * np.abs(right).mean()
        assert not checked(wrong, x, function, way).comparison.is_equal


def test_elements_at_a_kink_are_skipped_and_said_so():
    x = LARGE.copy()
    x[:4] = 0.0
    right = (x > 0).astype(float)
    found = checked(right, x, lambda x: [np.maximum(x, 0)])
    assert found.comparison.is_equal and not found.kinked
    right[10, 10] += 0.5
    assert not checked(right, x, lambda x: [np.maximum(x, 0)]).comparison.is_equal
    # The sum of all hides which elements have it.
    found = checked(np.sign(x), x, lambda x: [np.abs(x).sum()])
    assert found.kinked == found.directions and found.comparison.is_equal
    ties = np.ones(4)
    found = checked([1.0, 0, 0, 0], ties, lambda x: [np.max(x)])
    assert found.kinked == found.directions == 4


def test_directions_along_which_zeros_would_pass_are_counted():
    x = np.full(3, 1e3) + SMALL[:3]
    turns = 2.0**12
    half = Allowed(2.0**-11, 1)

    def steep(x):
        return [np.sin(turns * x)]

    right = turns * np.cos(turns * x)
    found = compare_gradient(0 * right, x, steep, [np.ones(3)], "complex", half, 0)
    assert found.comparison.is_equal and found.blind == found.directions == 3
    flat = compare_gradient(0 * x, x, lambda x: [0 * x], [np.ones(3)], "complex", half, 0)
    assert flat.comparison.is_equal and not flat.blind


def test_a_gradient_that_is_no_number_is_wrong():
    right = np.ones_like(SMALL)
    right[3] = np.nan
    assert "NaN" in checked(right, SMALL, lambda x: [x], "exact").comparison.reason
