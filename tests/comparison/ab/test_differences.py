"""Where the results of A and B differ, from files of them."""

import numpy as np
import pytest

from opperf.comparison.ab import differences
from opperf.comparison.ab.differences import PRECISIONS, Side, find_differences
from opperf.model import Case, OperatorTarget, Settings, TensorSpec, Tolerance
from opperf.worker.protocol import Observed, Value

USUAL = Tolerance()
NAN, INF = float("nan"), float("inf")


@pytest.fixture
def side(tmp_path):
    """Makes a side of arrays and values by place, with the case's dtype and settings."""
    made = []

    def side(results, dtype="float32", step=1, **settings):
        folder = tmp_path / str(len(made))
        folder.mkdir()
        values = []
        for place, value in results.items():
            if isinstance(value, np.ndarray):
                file = f"{len(values)}.npy"
                np.save(folder / file, value.reshape(-1)[::step])
                name = value.dtype.name
                values.append(Value(place, value.shape, name, "dense", file, step))
            else:
                values.append(value if isinstance(value, Value) else Value(place, text=value))
        target, tensor = OperatorTarget("fake", "f"), TensorSpec((2,), dtype)
        case = Case(target, {"x": tensor}, Settings(dtype=dtype, **settings))
        made.append(Side(case, Observed(tuple(values)), folder))
        return made[-1]

    return side


def array(*numbers, dtype="float32", shape=(-1,)):
    return np.array(numbers, dtype).reshape(shape)


@pytest.fixture
def found(side):
    """What is said of the outputs of A and B."""

    def said(a, b, tolerance=USUAL, **names):
        one, other = (v if isinstance(v, dict) else {"output": v} for v in (a, b))
        return [str(d) for d in find_differences(side(one), side(other), tolerance, names)]

    return said


BEYOND = "1 of 4 elements differ beyond"


@pytest.mark.parametrize(
    "a, b, words",
    [
        (array(1, 2, 3, 4), array(1, 2, 3.5, 4), "largest error 0.5 (0.17 of A's): 3 in A and"),
        (array(1, 2, 3, 4), array(1, 2, NAN, 4), "3 in A and nan in B at [2]; 1 of 4 elements"),
        (array(1, INF, 3, 4), array(1, -INF, 3, 4), "inf in A and -inf in B at [1]; 1 of 4"),
        (array(1, 2, 3, 4, shape=(2, 2)), array(1, 2, 9, 4, shape=(2, 2)), "at [1, 0]"),
        (array(1, 2, 3, 4), array(1, 2, 3, 4, shape=(2, 2)), "shape (4,) in A, (2, 2) in B"),
        (array(1, 2, dtype="int64"), array(1, 3, dtype="int64"), "2 in A and 3 in B at [1]"),
        # Exact in whole numbers, and not in double precision.
        (array(2**62, dtype="int64"), array(2**62 + 1, dtype="int64"), "4.61169e+18 in A"),
        (array(True, False), array(True, True), "0 in A and 1 in B at [1]"),
        (array(1, dtype="int64"), array(1, dtype="int32"), "int64 in A, int32 in B, with equal"),
        (array(1 + 1j, dtype="complex64"), array(1 - 1j, dtype="complex64"), "error 2 (1.4 of"),
        (array(2.0, shape=()), array(3.0, shape=()), "largest error 1 (0.5 of A's): 2 in A and 3"),
        ("None", "'a'", "None in A, 'a' in B"),
        (array(1, 2), "None", "float32 (2,) in A, None in B"),
        ({"output[0]": array(1)}, {"output[0]": array(1), "output[1]": array(1)}, "[1]: in B only"),
    ],
)
def test_what_differs_is_said_with_its_place(found, a, b, words):
    (line,) = found(a, b)
    assert line.startswith("output") and words in line


@pytest.mark.parametrize(
    "a, b",
    [
        (array(1, NAN, INF, 4), array(1.00001, NAN, INF, 4)),
        # What is left of terms that cancel has the error of the terms.
        (array(1000, 0), array(1000, 0.001)),
        (array(), array()),
        ("None", "None"),
    ],
)
def test_rounding_is_no_difference(found, a, b):
    assert found(a, b) == []


def test_another_dtype_has_its_largest_error(side):
    """Values of another dtype that differ by its rounding are no equal values."""
    a, b = array(1.0, 2.0, 4.0, dtype="float64"), array(1.0, 2.03, 4.0)
    (one,) = find_differences(
        side({"output": a}, "bfloat16"), side({"output": b}, "bfloat16"), USUAL, {}
    )
    assert one.text == (
        "float64 in A, float32 in B, equal within bfloat16's tolerance, largest error 0.03 (0.015 "
        "of A's): 2 in A and 2.03 in B at [1]"
    )
    assert (one.index, one.share) == ((1,), 0.0) and one.absolute == pytest.approx(0.03)
    (own,) = find_differences(side({"output": a}), side({"output": b}), Tolerance(rtol=0.1), {})
    assert "in B, equal within the tolerance, largest error 0.03" in own.text
    (exact,) = find_differences(side({"output": a}), side({"output": a.astype("f4")}), USUAL, {})
    assert exact.text.endswith("float32 in B, with equal values") and exact.absolute is None


def test_the_precision_is_that_of_the_arm_with_the_lower_one(side):
    exact = {"output": array(1.0, 2.0, dtype="float64")}
    for dtype, precision in PRECISIONS.items():
        finer = side(exact, "float64")
        for factor, count in ((0.5, 0), (4.0, 1)):
            error = 2.0 * factor * (precision.of_element + precision.of_largest)
            lower = side({"output": array(1.0, 2.0 + error, dtype="float64")}, dtype)
            assert len(find_differences(finer, lower, USUAL, {})) == count, dtype
    single = side({"output": array(1.0, 2.0)})
    mixed = side({"output": array(1.0, 2.02)}, autocast="bfloat16")
    assert find_differences(single, mixed, USUAL, {}) == []
    assert find_differences(single, side({"output": array(1.0, 2.02)}), USUAL, {}) != []


def test_a_tolerance_of_the_users_own(found):
    a, b = array(1.0, 2.0), array(1.05, 2.0)
    assert found(a, b, Tolerance(rtol=0.1)) == [] and found(a, b, Tolerance(atol=0.1)) == []
    assert found(a, a + 1e-6) == []
    assert "2 of 2 elements" in found(a, a + array(1e-6), Tolerance(rtol=0.0, atol=0.0))[0]


def test_gradients_are_compared_by_the_names_of_a(found):
    a = {"gradient of x": array(1.0), "x after the call": array(2.0)}
    b = {"gradient of data": array(5.0), "data after the call": array(2.0)}
    (line,) = found(a, b, data="x")
    assert line.startswith("gradient of x: largest error 4")


def test_a_gradient_that_is_zero_but_for_rounding_has_the_error_of_the_others(found):
    a = {"gradient of weight": array(100.0), "gradient of bias": array(1e-5)}
    b = {"gradient of weight": array(100.0), "gradient of bias": array(-3e-5)}
    assert found(a, b) == [] and found(a, {**b, "gradient of bias": array(3.0)}) != []
    assert found({"gradient of bias": array(1e-5)}, {"gradient of bias": array(-3e-5)}) != []


def test_large_tensors_are_compared_in_parts(side, monkeypatch):
    monkeypatch.setattr(differences, "PART", 3)
    numbers = np.arange(24, dtype="float32").reshape(4, 6)
    other = numbers.copy()
    other[2, 0] += 1
    other[3, 0] += 2
    # The files have every second and every third element; both have every sixth.
    (one,) = find_differences(
        side({"output": numbers}, step=2), side({"output": other}, step=3), Tolerance(), {}
    )
    assert one.index == (3, 0) and one.absolute == 2 and one.share == 2 / 4
