"""How far all cases moved together."""

import numpy as np
import pytest
from scipy import stats

from opperf.statistics.blocks import Effects
from opperf.statistics.common_shift import common_shift, median_effects
from opperf.statistics.data import Thresholds, Verdict

RULES = Thresholds()


def effects(values):
    values = np.asarray(values, dtype=float)
    return Effects(values, np.zeros(len(values)))


def test_the_shift_is_the_t_test_of_the_blocks_medians():
    values = np.random.default_rng(1).normal(0.008, 0.01, (101, 5))
    medians = np.median(values, axis=0)
    shift = common_shift(effects(values), RULES)
    test = stats.ttest_1samp(medians, 0.0)
    assert shift.effect == pytest.approx(medians.mean())
    assert shift.p == pytest.approx(test.pvalue)
    assert (shift.low, shift.high) == pytest.approx(tuple(test.confidence_interval(0.95)))
    assert (shift.verdict, shift.n_blocks) == (Verdict.SAME, 5)
    assert "together" in shift.note


@pytest.mark.parametrize(("size", "verdict"), [(0.05, "regressed"), (-0.05, "improved")])
def test_a_large_shift_has_a_verdict_of_its_own(size, verdict):
    values = np.random.default_rng(1).normal(size, 0.01, (101, 5))
    assert common_shift(effects(values), RULES).verdict == verdict


def test_cases_that_changed_by_themselves_do_not_move_the_shift():
    values = np.random.default_rng(1).normal(0.0, 0.01, (100, 5))
    before = common_shift(effects(values), RULES)
    values[:20] += 1.0
    after = common_shift(effects(values), RULES)
    assert after.effect == pytest.approx(before.effect, abs=0.005)
    assert after.verdict == Verdict.SAME


def test_blocks_that_disagree_say_nothing_of_a_shift():
    # Three steps apart: with one degree of freedom the interval is 12.7 standard errors either way.
    shift = common_shift(effects([[0.01, 0.04]] * 3), RULES)
    assert (shift.verdict, shift.n_blocks, shift.note) == (Verdict.AMBIGUOUS, 2, "")
    assert shift.effect == pytest.approx(0.025)
    assert shift.high == pytest.approx(0.025 + 12.706 * 0.015, rel=1e-4)


@pytest.mark.parametrize(
    "values",
    [
        [[0.05]] * 4,
        [[0.05, np.nan]] * 4,
        [[]] * 4,
        [[0.05, 0.06]] * 2,
        [[0.05, 0.06]] * 2 + [[0.05, np.nan]],
        np.empty((0, 4)),
        np.empty((0, 0)),
    ],
)
def test_a_shift_needs_two_blocks_and_three_cases(values):
    assert common_shift(effects(values), RULES) is None


def test_the_scatter_of_the_control_counts():
    values, control = effects([[0.05, 0.06]] * 3), effects([[0.10, 0.0, 0.05]] * 3)
    alone, both = common_shift(values, RULES), common_shift(values, RULES, control)
    # Squares of 5e-5 with one degree of freedom; of 5e-3 with two more.
    error = np.sqrt((5e-5 + 5e-3) / 3 / 2)
    assert both.effect == alone.effect == pytest.approx(0.055)
    assert both.high - both.effect == pytest.approx(stats.t.ppf(0.975, 3) * error)
    assert both.n_blocks == 2


def test_only_complete_cases_have_a_part_in_the_shift():
    values = np.array([[0.1, 0.2], [0.1, 0.2], [0.9, np.nan]])
    assert median_effects(effects(values)).values.tolist() == [[0.1, 0.2]]


@pytest.mark.parametrize(
    ("values", "medians"),
    [
        ([[0.1], [0.2], [0.4]], [0.2]),
        ([[0.3]], [0.3]),
        ([[0.1, 0.3], [0.2, -0.3]], [0.15, 0.0]),
        ([[np.nan, 0.1, 0.1], [0.1, np.nan, 0.1]], [np.nan] * 3),
        (np.empty((0, 2)), [np.nan] * 2),
    ],
)
def test_the_middle_of_the_cases_is_a_case_of_its_own(values, medians):
    found = median_effects(effects(values))
    np.testing.assert_allclose(found.values, [medians])
    assert found.resolution.tolist() == [0.0]
