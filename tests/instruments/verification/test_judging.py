"""Codes of verifications, from results that no framework has made."""

import numpy as np
import pytest

from opperf.instruments.verification.arrays import Array
from opperf.instruments.verification.judging import differing_runs, is_far, judge, judge_eager
from opperf.model import VerificationCode


def results(dtype="float32", **values):
    made = {name: np.atleast_1d(np.asarray(one, dtype)) for name, one in values.items()}
    return {name: Array(dtype, one.shape, one.reshape(-1)) for name, one in made.items()}


def judged(eager, found, double=None):
    return judge(eager, found, double or {}, lambda dtype: 1e-4)


def test_the_weakest_method_that_was_needed_is_told():
    eager = results(output=[1.0, 2.0], loss=3.0)
    found = judged(eager, results(output=[1.0, 2.0], loss=3.0001))
    assert found.code is VerificationCode.PASS and found.method == "allclose"
    assert found.compared == 2 and not found.is_wrong and found.line == "PASS"
    assert found.max_relative_error == pytest.approx(3.3e-5, rel=0.1)
    # The mean is over all three elements.
    assert found.mean_relative_error == pytest.approx(found.max_relative_error / 3)


def test_what_failed_first_is_told_with_its_figures():
    eager = results(output=[1.0], loss=[2.0], **{"gradient of w": [3.0]})
    other = results(output=[1.0], loss=[2.02], **{"gradient of w": [9.0]})
    found = judged(eager, other, results("float64", output=[1.0], loss=[2.0]))
    assert found.code is VerificationCode.FAIL and found.is_wrong
    assert (found.failed, found.method) == ("loss", "rmse")
    assert found.error == pytest.approx(0.02, rel=1e-3)
    assert found.allowed == pytest.approx(1e-5, rel=1e-3)
    assert found.line.startswith("FAIL: loss: its root mean square error from float64 is 0.02")


@pytest.mark.parametrize(
    "found, failed, reason",
    [
        (results(output=[1.0]), "loss", "there is none, and eager mode has it"),
        (results(output=[1.0], loss=[2.0], more=[1.0]), "more", "eager mode has none"),
    ],
)
def test_each_result_has_to_be_in_both(found, failed, reason):
    verification = judged(results(output=[1.0], loss=[2.0]), found)
    assert verification.code is VerificationCode.FAIL
    assert (verification.failed, verification.reason) == (failed, reason)


def test_two_runs_of_eager_mode_have_to_be_the_same():
    one = results(output=[1.0, np.nan], loss=[2.0])
    assert differing_runs(one, one) is None
    other = results(output=[1.0, np.nan], loss=[2.0000002])
    found = differing_runs(one, other)
    assert found.code is VerificationCode.NONDETERMINISTIC_EAGER_RUN
    assert found.failed == "loss" and "differ by 1.2e-07" in found.reason
    for made, text in (
        (results(output=[1.0, np.nan]), "has no such result"),
        (results(output=[1.0], loss=[2.0]), "return float32 (2,) and float32 (1,)"),
    ):
        assert text in differing_runs(one, made).reason


def test_eager_mode_itself_has_its_errors_from_float64():
    eager = results(output=[1.0, 2.002]) | results("int64", count=[3])
    found = judge_eager(eager, results("float64", output=[1.0, 2.0]) | results("int64", count=[9]))
    assert found.code is VerificationCode.PASS and found.compared == 2
    assert found.max_relative_error == pytest.approx(1e-3, rel=1e-2)
    assert judge_eager(eager, {}).max_relative_error is None


def test_errors_that_are_not_finite_are_none():
    found = judged(results(output=[1.0]), results(output=[np.inf]))
    assert found.is_wrong and found.max_relative_error is None
    assert found.error == 0.0 and found.method == "cosine"


def test_results_of_other_random_numbers_are_far():
    eager = results(output=[1.0, 2.0]) | results("int64", count=[3])
    near = results("float64", output=[1.0005, 2.0]) | results("int64", count=[3])
    assert not is_far(eager, near, lambda dtype: 1e-4)
    assert is_far(eager, results("float64", output=[1.0, 3.0]), lambda dtype: 1e-4)
    assert not is_far(eager, results("float64", output=[1.0]), lambda dtype: 1e-4)
