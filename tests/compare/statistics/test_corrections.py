"""Benjamini and Hochberg, the noise floor, the common shift, blocks that would settle."""

import numpy as np
import pytest
from scipy import stats

from opperf.compare.statistics.blocks import Effects
from opperf.compare.statistics.common_shift import common_shift, middle
from opperf.compare.statistics.data import Rules, Verdict
from opperf.compare.statistics.false_discovery import level_of_next, rejected
from opperf.compare.statistics.noise_floor import differing, noise_floor, shifted
from opperf.compare.statistics.paired_t import Estimate, estimate, p_beyond
from opperf.compare.statistics.settling import MOST_BLOCKS, blocks_needed

RULES = Rules()


def effects(values):
    values = np.asarray(values, dtype=float)
    return Effects(values, np.zeros(len(values)))


# The fifteen p-values of the paper's section 3.2, of which it rejects four at 0.05.
PAPER = np.array(
    [
        *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
        *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
    ]
)


def test_as_many_are_rejected_as_in_the_paper():
    assert rejected(PAPER, 0.05).tolist() == [True] * 4 + [False] * 11


def test_missing_p_values_are_no_hypotheses():
    mixed = np.insert(PAPER, [0, 3, 15], np.nan)
    assert np.count_nonzero(rejected(mixed, 0.05)) == 4
    assert not rejected(mixed, 0.05)[np.isnan(mixed)].any()
    assert not rejected(np.array([np.nan]), 0.05).any()
    assert not rejected(np.array([]), 0.05).any()


def test_the_level_of_the_next_would_be_rejected():
    level = level_of_next(PAPER, 0.05)
    assert level == pytest.approx(0.05 * 5 / 15)
    changed = PAPER.copy()
    changed[7] = level
    assert rejected(changed, 0.05)[7]
    changed[7] = level * 1.01
    assert not rejected(changed, 0.05)[7]
    assert level_of_next(np.array([np.nan]), 0.05) == 0.05
    assert level_of_next(np.array([0.001]), 0.05) == 0.05


def test_the_noise_floor_is_the_99th_percentile_of_sizes():
    means = np.linspace(-0.05, 0.03, 300)
    control = Estimate(means, np.full(300, 0.01), np.full(300, 4.0))
    assert noise_floor(control) == pytest.approx(np.percentile(np.abs(means), 99))


def test_cases_with_one_block_have_no_part_in_the_noise_floor():
    control = estimate(effects([[0.01, 0.01], [0.5, np.nan]]))
    assert noise_floor(control) == pytest.approx(0.01)
    assert noise_floor(estimate(effects([[0.5], [0.1]]))) is None
    assert noise_floor(estimate(effects(np.empty((2, 0))))) is None


def test_a_difference_of_a_with_itself_is_found_though_it_raises_the_noise_floor():
    rng = np.random.default_rng(0)
    values = rng.normal(0.0, 0.005, (200, 4))
    values[:20] += 0.15
    control = estimate(effects(values))
    assert differing(control, RULES)[:20].sum() >= 15
    assert not differing(control, RULES)[20:].any()
    # Held against the noise floor, none of them would be.
    assert not rejected(p_beyond(control, noise_floor(control)), RULES.control_q).any()


def test_a_common_difference_of_a_with_itself_is_found():
    rng = np.random.default_rng(0)
    values = rng.normal(0.0, 0.01, (200, 4))
    assert not shifted(effects(values), RULES)
    assert shifted(effects(values + 0.04), RULES)


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


def test_only_complete_cases_have_a_part_in_the_shift():
    values = np.array([[0.1, 0.2], [0.1, 0.2], [0.9, np.nan]])
    assert middle(effects(values)).values.tolist() == [[0.1, 0.2]]
    nothing = common_shift(effects(np.full((2, 3), np.nan)), RULES)
    assert nothing.verdict == Verdict.AMBIGUOUS
    assert nothing.effect is None
    assert common_shift(effects(np.empty((0, 0))), RULES).verdict == Verdict.AMBIGUOUS


def needed(mean, deviation, beyond=0.05, within=0.05):
    n = 4.0
    of = Estimate(np.array([mean]), np.array([deviation / np.sqrt(n)]), np.array([n]))
    return blocks_needed(of, 0.02, beyond, within)[0]


@pytest.mark.parametrize("mean", [0.03, -0.03, 0.035])
def test_as_many_blocks_as_asked_for_have_the_power(mean):
    n, deviation = needed(mean, 0.01), 0.01
    distance = (abs(mean) - 0.02) / deviation

    def power(blocks):
        return stats.nct.sf(stats.t.isf(0.05, blocks - 1), blocks - 1, distance * np.sqrt(blocks))

    assert power(n) > 0.88
    assert power(n - 2) < 0.90


def test_blocks_for_sameness_and_for_a_change_are_counted_alike():
    assert needed(0.01, 0.01) == needed(0.03, 0.01)
    assert needed(0.0, 0.01) < needed(0.01, 0.01)
    assert needed(0.03, 0.01, beyond=0.001) > needed(0.03, 0.01)


def test_no_number_where_none_would_do():
    assert np.isnan(needed(0.02, 0.01))
    assert np.isnan(needed(0.0201, 0.01))
    assert np.isnan(needed(0.03, float("nan")))
    assert needed(0.05, 1e-9) == 2
    assert needed(0.021, 0.01) <= MOST_BLOCKS
