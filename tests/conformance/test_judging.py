"""Faults are found from numbers alone."""

import numpy as np
import pytest

from tests.conformance.judging import (
    CONSTANT,
    EMPTY,
    INTEGERS,
    MASK,
    NOT_FINITE,
    SHARED_WHY,
    WITHOUT_IMAGINARY_PART,
    ZERO_GRADIENT,
    Finding,
    Values,
    holds_positions,
    judge_gradients,
    judge_integers,
    judge_outputs,
    shared_whys,
)


def values(*numbers, dtype="float32", place="output"):
    return Values(place, np.array(numbers, dtype))


@pytest.mark.parametrize(
    ("numbers", "dtype", "found"),
    [
        ((1, 2), "float32", []),
        ((1, 1), "float32", [CONSTANT]),
        ((1,), "float32", []),
        ((), "float32", [EMPTY]),
        ((np.nan, 1), "float32", [NOT_FINITE]),
        ((np.nan, np.nan), "float32", [NOT_FINITE]),
        ((np.inf, np.inf), "float16", [NOT_FINITE, CONSTANT]),
        ((3, 3), "int64", [CONSTANT]),
        ((True, True), "bool", [MASK]),
        ((False, False), "bool", [MASK]),
        ((True, False), "bool", []),
        ((True,), "bool", []),
        ((1, 2), "complex64", [WITHOUT_IMAGINARY_PART]),
        ((1, 2j), "complex64", []),
        ((1, complex(0, np.inf)), "complex64", [NOT_FINITE]),
    ],
)
def test_outputs(numbers, dtype, found):
    assert [one.kind for one in judge_outputs([values(*numbers, dtype=dtype)])] == found


def test_each_output_is_judged_and_an_empty_one_beside_others_is_no_fault():
    several = [values(1, 2), values(place="output[1]"), values(5, 5, place="output[2]")]
    assert list(judge_outputs(several)) == [Finding(CONSTANT, "output[2]", "2 times 5.0")]
    assert list(judge_outputs([])) == []


@pytest.mark.parametrize(
    ("numbers", "dtype", "found"),
    [
        ((1, 1), "float32", []),
        ((0, 1), "float32", []),
        ((0, 0), "float32", [ZERO_GRADIENT]),
        ((0,), "float32", [ZERO_GRADIENT]),
        ((), "float32", []),
        ((np.nan, 0), "float32", [NOT_FINITE]),
        ((0, 0), "complex64", [ZERO_GRADIENT]),
        ((1, 2), "complex64", [WITHOUT_IMAGINARY_PART]),
        ((1, 1j), "complex64", []),
    ],
)
def test_gradients(numbers, dtype, found):
    assert [one.kind for one in judge_gradients([values(*numbers, dtype=dtype)])] == found


@pytest.mark.parametrize(
    ("numbers", "dtype", "limits", "found"),
    [
        ((0, 1), "int64", {}, []),
        ((7, 7), "int64", {}, [INTEGERS]),
        ((7,), "int64", {}, []),
        ((7.0, 7.0), "float32", {}, []),
        ((True, True), "bool", {}, [INTEGERS]),
        ((0, 9), "int32", {"index": 10}, []),
        ((0, 10), "int32", {"index": 10}, [INTEGERS]),
        ((-1, 3), "int32", {"index": 10}, [INTEGERS]),
        ((-1, 3), "int32", {"other": 10}, []),
    ],
)
def test_integers(numbers, dtype, limits, found):
    given = values(*numbers, dtype=dtype, place="index")
    assert [one.kind for one in judge_integers([given], limits)] == found


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("index", True),
        ("indices.1", True),
        ("col_indices", True),
        ("crow_indices", False),
        ("segment_ids", True),
        ("labels", True),
        ("indptr", False),
        ("self", False),
        ("independent", False),
    ],
)
def test_arguments_of_positions_are_known_by_name(name, holds):
    assert holds_positions(name) is holds


def test_a_reason_that_several_cases_of_an_operator_have_is_found():
    rows = [("a", "x", "f:1"), ("a", "y", "f:2"), ("b", "x", "f:3"), ("a", "x", "f:4")]
    assert list(shared_whys(rows)) == [("a", Finding(SHARED_WHY, "", "2 times 'x': f:1, f:4"))]
