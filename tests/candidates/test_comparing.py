from __future__ import annotations

import numpy as np
import pytest

from opperf.candidates.comparing import Results, allowed, compare, controls, follows, passes
from opperf.candidates.contents import contents
from opperf.candidates.model import Problem
from opperf.candidates.protocol import Layout, Output, Place, decoded, encoded

PROBLEM = Problem("p", "numpy", "p.py")
RANDOM = np.random.default_rng(7)


def results(wide: np.ndarray, dtype: str = "float32") -> Results:
    own = wide.astype(dtype)
    return Results((Output(own.shape, dtype, dtype),), (own,), (wide,))


SOFT = results(RANDOM.random((64, 64)) * 1e-6)
OTHER = results(RANDOM.random((64, 64)) * 1e-6)


def test_wrong_results_fail_however_small_the_right_ones_are() -> None:
    most = allowed([SOFT, OTHER], SOFT, 4096, PROBLEM)
    assert passes(SOFT.own, SOFT, most)
    names = [name for name, wrong in controls(SOFT, OTHER) if passes(wrong, SOFT, most)]
    assert names == []


def test_a_stated_tolerance_above_the_spread_passes_them() -> None:
    stated = Problem("p", "numpy", "p.py", rtol=1e-2, atol=1e-2)
    most = allowed([SOFT, OTHER], SOFT, 4096, stated)
    assert all(passes(wrong, SOFT, most) for _, wrong in controls(SOFT, OTHER))


@pytest.mark.parametrize(
    ("found", "right", "problem"),
    [
        ([1.0, np.nan], [1.0, 2.0], "NaN is not where"),
        ([1.0, 2.0], [1.0, np.nan], "NaN is not where"),
        ([1.0, np.nan], [1.0, np.nan], ""),
        ([1.0, -np.inf], [1.0, np.inf], "infinity is not where"),
        ([1.0, np.inf], [1.0, np.inf], ""),
        ([1.0, 2.001], [1.0, 2.0], "1 of 2 elements are off"),
        ([1.0, 2.000001], [1.0, 2.0], ""),
    ],
)
def test_elements(found: list[float], right: list[float], problem: str) -> None:
    expected = results(np.array(right))
    (most,) = allowed([results(np.array([1.0, 2.0]))], results(np.array([1.0, 2.0])), 2, PROBLEM)
    off = compare(np.array(found, np.float32), expected, 0, most)
    assert off.problem.startswith(problem) and bool(off.problem) is bool(problem)


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ([np.nan, 0.0, 1.0], ""),
        ([np.nan, np.nan, 1.0], ""),
        ([0.0, 0.0, 1.0], "NaN"),
        ([np.nan, np.nan, 2.0], "1 of"),
    ],
)
def test_a_nan_that_the_reference_has_in_one_dtype_alone(found: list[float], problem: str) -> None:
    usual = results(np.array([1.0, 2.0, 3.0]))
    (most,) = allowed([usual], usual, 3, PROBLEM)
    own, wide = (np.array([np.nan, hidden, 1.0]) for hidden in (0.0, np.nan))
    right = usual._replace(own=(own.astype("f4"),), wide=(wide,))
    off = compare(np.array(found, np.float32), right, 0, most)
    assert off.problem.startswith(problem) and bool(off.problem) is bool(problem)


def test_what_a_rounding_of_the_inputs_changes_may_be_off_as_much() -> None:
    right = results(np.array([1.0, 2.0]))
    nudged = results(np.array([1.0, 2.001]))
    found = np.array([1.0, 2.002], np.float32)
    for near, passed in ((right, False), (nudged, True)):
        (most,) = allowed([right], near, 2, PROBLEM)
        assert (not compare(found, right, 0, most).problem) is passed


def test_integers_are_equal() -> None:
    right = Results((Output((3,), "int64", "int64"),), *[(np.array([1, 2, 3]),)] * 2)
    (most,) = allowed([right], right, 3, PROBLEM)
    assert compare(np.array([1, 2, 4]), right, 0, most).problem == "1 elements differ"
    assert not compare(np.array([1, 2, 3]), right, 0, most).problem


def test_whether_results_follow_an_input() -> None:
    before, change = np.arange(4.0), np.array([0.0, 1.0, 0.0, -1.0])
    assert follows(before, before + change, change)
    assert not follows(before, before, change)
    assert follows(before, before, np.zeros(4)) is None


def test_bfloat16_is_rounded_to_the_nearest_and_keeps_nan() -> None:
    numbers = np.array([1.0, 1.00390625, 1.0117188, -(2.0**127), np.inf, np.nan], np.float32)
    back = decoded(encoded(numbers, "bfloat16"), "bfloat16", (6,))
    assert back[:5].tolist() == [1.0, 1.0, 1.015625, -(2.0**127), np.inf]
    assert np.isnan(back[5])


def test_contents_change_what_they_say() -> None:
    layout = Layout((Place((4,), "float32", 0), Place((2,), "int64", 64)), (["t", 0], ["t", 1]))
    seeds = np.zeros((3, layout.bytes), np.uint8)
    for seed in range(3):
        seeds[seed, :16] = encoded(RANDOM.random(4), "float32")
        seeds[seed, 64:80] = encoded(np.array([seed, 5]), "int64")
    made = {content.name: content for content in contents(layout, seeds, RANDOM)}
    numbers = {
        name: (decoded(each.data[:16], "float32", (4,)), decoded(each.data[64:80], "int64", (2,)))
        for name, each in made.items()
    }
    first = numbers["seed 1"]
    assert np.allclose(numbers["inputs times 1000"][0], 1000 * first[0])
    assert numbers["zeros"][0].tolist() == [0.0] * 4
    assert all(own[1].tolist() == [0, 5] for name, own in numbers.items() if "times" in name)
    assert numbers["another input 1"][1].tolist() == [1, 5]
    assert np.array_equal(numbers["another input 1"][0], first[0])
    assert np.isnan(numbers["a NaN in input 0"][0]).sum() == 1
    near = numbers["inputs that differ in one element"][0]
    assert (near != first[0]).sum() == 1
