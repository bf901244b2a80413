"""Scores of other judges, by their rules on failures, ties and floors."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from opperf.candidates import scores
from opperf.candidates.model import TrialResult, Verdict, VerdictStatus, worst
from opperf.instruments.profilers.summary import summarise


def trial(ratio: float | None) -> TrialResult:
    """Returns a trial; a wrong one without a ratio."""
    if ratio is None:
        return TrialResult({"n": 1}, VerdictStatus.WRONG, "other numbers")
    ratios = {"reference": summarise([ratio], "")}
    return TrialResult({"n": 1}, VerdictStatus.PASSED, ratios=ratios)


def verdict(*ratios: float | None) -> Verdict:
    trials = tuple(map(trial, ratios))
    return Verdict("p", "c", worst(tuple(each.status for each in trials)), trials=trials)


VERDICTS: Sequence[Verdict] = (verdict(4.0), verdict(1.0), verdict(0.25), verdict(None))


@pytest.mark.parametrize(("p", "share"), [(0.0, 0.75), (0.2, 0.75), (1.0, 0.25), (4.0, 0.0)])
def test_fast_p_is_of_all_and_a_tie_is_not_faster(p: float, share: float) -> None:
    assert scores.fast_p(VERDICTS, p) == share


def test_means_leave_out_failures_or_count_them_as_one() -> None:
    assert scores.geometric_mean_of_correct(VERDICTS) == pytest.approx(1.0)
    assert scores.geometric_mean_of_correct([verdict(8.0), verdict(None)]) == pytest.approx(8.0)
    # A trial that fails makes a verdict that fails, whose other trials count for BackendBench only.
    some = [verdict(4.0, None), verdict(16.0)]
    assert scores.geometric_mean_of_correct(some) == pytest.approx(16.0)
    assert scores.geometric_mean_of_all(some) == pytest.approx((2.0 * 16.0) ** 0.5)
    assert scores.geometric_mean_of_correct([verdict(None)]) == 0.0


def test_shares_of_backendbench() -> None:
    some = [verdict(4.0, None), verdict(16.0), verdict(1.0, 1.0)]
    assert scores.pass_rate(some) == pytest.approx((0.5 + 1 + 1) / 3)
    assert scores.perf_at_p(some, 1.0) == pytest.approx(1 / 3)


def test_one_failure_is_zero_for_flashinfer_bench() -> None:
    some = [verdict(4.0, None), verdict(2.0, 0.5)]
    assert scores.mean_speedup(some) == pytest.approx((0 + 1.25) / 2)
    assert scores.win_at_p(some, 1.0) == pytest.approx((0 + 0.5) / 2)


def test_a_ratio_is_to_a_baseline_that_was_timed() -> None:
    assert scores.speedup(trial(2.0)) == 2.0
    assert scores.speedup(trial(2.0), baseline="torch") is None


def test_nothing_judged_has_no_score_above_zero() -> None:
    assert set(scores.scores([]).values()) == {0.0}
