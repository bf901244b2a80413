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


@pytest.mark.parametrize(("p", "share"), [(0.0, 0.8), (1.0, 0.4), (1.5, 0.4), (2.0, 0.2)])
def test_fast_p_is_of_all_and_a_tie_is_not_faster(p: float, share: float) -> None:
    found = scores.scores([*VERDICTS, verdict(2.0)])
    assert found[f"fast_{p:g}"] == pytest.approx(share)


def test_problems_without_a_candidate_fail_for_fast_p_alone() -> None:
    found, of_all = scores.scores(VERDICTS), scores.scores(VERDICTS, unsolved=4)
    assert (of_all["fast_0"], of_all["fast_1"]) == (3 / 8, 1 / 8)
    assert {name for name in found if found[name] != of_all[name]} == {
        *("fast_0", "fast_1", "fast_1.5", "fast_2")
    }


def test_means_leave_out_failures_or_count_them_as_one() -> None:
    correct, with_failures = "geometric mean of correct", "geometric mean, failures as 1"
    assert scores.scores(VERDICTS)[correct] == pytest.approx(1.0)
    assert scores.scores([verdict(8.0), verdict(None)])[correct] == pytest.approx(8.0)
    # A trial that fails makes a verdict that fails, whose other trials count for BackendBench only.
    found = scores.scores([verdict(4.0, None), verdict(16.0)])
    assert found[correct] == pytest.approx(16.0)
    assert found[with_failures] == pytest.approx((2.0 * 16.0) ** 0.5)
    assert scores.scores([verdict(None)])[correct] == 0.0


def test_shares_of_backendbench() -> None:
    found = scores.scores([verdict(4.0, None), verdict(16.0), verdict(1.0, 1.0)])
    assert found["pass rate"] == pytest.approx((0.5 + 1 + 1) / 3)
    assert found["perf@1"] == pytest.approx(1 / 3)


def test_one_failure_is_zero_for_flashinfer_bench() -> None:
    found = scores.scores([verdict(4.0, None), verdict(2.0, 0.5)])
    assert found["mean speed-up, 0 on failure"] == pytest.approx((0 + 1.25) / 2)
    assert found["win@1"] == pytest.approx((0 + 0.5) / 2)


def test_the_best_is_the_fastest_on_average_of_those_without_a_failure() -> None:
    some = [verdict(None, None), verdict(9.0, None), verdict(0.5, 2.0), verdict(1.0, 1.0)]
    assert scores.best(some) is some[2] and scores.best(some[:2]) is some[1]
    assert scores.best(some[:1]) is some[0]


def test_nothing_judged_has_no_score_above_zero() -> None:
    assert set(scores.scores([]).values()) == {0.0}
