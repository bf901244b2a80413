"""The comparison itself: that it finds what is wrong, and names it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opperf.frameworks import load
from opperf.operations.uses import only_written_to, use
from tests.values.comparing import Comparison, assert_alike, planned
from tests.values.tolerances import STRICT, USUAL, Tolerance, tolerance_of

FRAMEWORK = load("numpy")


def array(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return Comparison(FRAMEWORK, array, planned(FRAMEWORK), {"zeros_like"})


def test_every_function_that_disagrees_is_named(comparison: Comparison) -> None:
    wrong = comparison.disagreements(
        {
            "maximum": use("minimum", "x=x1 y=x2"),
            "hypot": use("hypot", "x=x1 y=x2"),
            "floor_divide": use("floor_divide", "y=x1 x=x2"),
            "random.uniform": use("random_uniform", "low -high -size", high=1.1),
        }
    )
    assert [line.partition(":")[0] for line in wrong] == [
        "maximum",
        "floor_divide",
        "random.uniform",
    ]
    assert "Mismatched elements" in wrong[0]


@pytest.mark.parametrize(
    ("name", "entry", "reason"),
    [
        ("hypot", use("hypot", "x=x1"), "KeyError: 'x2'"),
        ("split", use("identity", "x=ary -indices_or_sections"), "4 outputs, not 1"),
        ("diff", use("identity", "x=a -n -axis"), "shape (63, 64), not (64, 64)"),
        ("fill_diagonal", use("identity", "x=a -val", only_written_to("a")), "Mismatched"),
        ("ones_like", use("isfinite", "x=a -dtype"), "one number everywhere"),
        ("no such function", use("identity", "x"), "has no case"),
    ],
)
def test_the_reason_is_told(comparison: Comparison, name: str, entry: Any, reason: str) -> None:
    (line,) = comparison.disagreements({name: entry})
    assert line.startswith(f"{name}: ") and reason in line


def test_one_number_everywhere_is_right_where_it_is_said_so(comparison: Comparison) -> None:
    assert comparison.disagreements({"zeros_like": use("isnan", "x=a -dtype")}) == []


@pytest.mark.parametrize("kind", ["float16", "float32"])
@pytest.mark.parametrize("tolerance", [USUAL, STRICT])
def test_the_tolerance_is_that_of_the_type(kind: str, tolerance: Tolerance) -> None:
    exact = np.array([1.0, 2.0, 3.0])
    off = tolerance.relative[kind] + tolerance.of_largest * tolerance.relative[kind] * 3
    step = np.finfo(kind).eps
    assert_alike((exact + off * 0.4).astype(kind), exact, tolerance)
    with pytest.raises(AssertionError):
        assert_alike((exact + 3 * off + 3 * step).astype(kind), exact, tolerance)


def test_whole_numbers_are_alike_if_they_are_the_same() -> None:
    assert_alike(np.array([1, 2]), np.array([1.0, 2.0]), USUAL)
    with pytest.raises(AssertionError):
        assert_alike(np.array([1, 2]), np.array([1.0, 2.00001]), USUAL)


def test_the_precision_of_a_reference_is_not_that_of_an_operator() -> None:
    with pytest.raises(AssertionError):
        assert_alike(np.ones(2, np.float32), np.ones(2, np.float16), USUAL)


def test_tolerances_are_an_operators_own_or_its_operations() -> None:
    assert tolerance_of("broadcast_add", "add") is USUAL
    assert tolerance_of("adam_update", "adam_update") is STRICT
    assert tolerance_of("_multi_adamw_update", "adamw_update").of_largest > STRICT.of_largest
