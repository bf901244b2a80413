"""The comparison itself: that it finds what is wrong, and names it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opperf.frameworks import load
from tests.values.canonical.operation import STRICT, USUAL, Tolerance
from tests.values.comparing import Comparison, assert_alike, planned
from tests.values.uses import Choice, Written, merged, only_written_to, roles_of, use, written_to

FRAMEWORK = load("numpy")


def array(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return Comparison(FRAMEWORK, array, planned(FRAMEWORK), {"isnan"})


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
        ("isfinite", use("isfinite", "x"), "one number everywhere"),
        ("no such function", use("identity", "x"), "has no case"),
    ],
)
def test_the_reason_is_told(comparison: Comparison, name: str, entry: Any, reason: str) -> None:
    (line,) = comparison.disagreements({name: entry})
    assert line.startswith(f"{name}: ") and reason in line


def test_one_number_everywhere_is_right_where_it_is_said_so(comparison: Comparison) -> None:
    assert comparison.disagreements({"isnan": use("isnan", "x")}) == []


def test_roles_by_their_words() -> None:
    take = roles_of("x=lhs|data y axis -dtype", {"epsilon": 0.5})
    assert take(data=1, y=2, dtype="int8") == {"x": 1, "y": 2, "epsilon": 0.5}
    assert take(lhs=1, axis=0) == {"x": 1, "axis": 0, "epsilon": 0.5}
    with pytest.raises(KeyError):
        take(lhs=1, keepdims=True)


def test_a_choice_is_by_the_value_of_an_argument() -> None:
    absent, one = use("floor"), use("ceil")
    choice = Choice("mode", {None: absent, "up": one})
    assert choice.of({}) is absent
    assert choice.of({"mode": "up"}) is one
    assert choice.operations == {"floor", "ceil"}


def test_where_outputs_are_written() -> None:
    assert written_to("out")(1, {}) == Written(1, {"out": 1})
    assert only_written_to("out")(1, {}) == Written((), {"out": 1})


def test_an_operator_is_in_one_table() -> None:
    with pytest.raises(ValueError, match="add"):
        merged({"add": use("add")}, {"add": use("add"), "sub": use("subtract")})


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
