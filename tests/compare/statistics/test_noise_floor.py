"""What A differs from itself by."""

import numpy as np
import pytest

from opperf.compare.statistics.blocks import Effects
from opperf.compare.statistics.data import Thresholds
from opperf.compare.statistics.false_discovery import reject
from opperf.compare.statistics.noise_floor import find_differing, is_shifted, noise_floor
from opperf.compare.statistics.paired_t import Estimate, estimate, p_beyond

RULES = Thresholds()


def effects(values):
    values = np.asarray(values, dtype=float)
    return Effects(values, np.zeros(len(values)))


def test_the_noise_floor_is_the_99th_percentile_of_sizes():
    # Sizes of 0 to 100 steps: 99 of 100 are at most 99 steps.
    means = 0.001 * np.random.default_rng(0).permutation(101) * np.tile([1.0, -1.0], 51)[:101]
    control = Estimate(means, np.full(101, 0.01), np.full(101, 4.0))
    assert noise_floor(control) == pytest.approx(0.099)


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
    assert find_differing(control, RULES)[:20].sum() >= 15
    assert not find_differing(control, RULES)[20:].any()
    # Held against the noise floor, none of them would be.
    assert not reject(p_beyond(control, noise_floor(control)), RULES.control_q).any()


def test_a_common_difference_of_a_with_itself_is_found():
    rng = np.random.default_rng(0)
    values = rng.normal(0.0, 0.01, (200, 4))
    assert not is_shifted(effects(values), RULES)
    assert is_shifted(effects(values + 0.04), RULES)


# A table of Student's t has 5.841 for half a percent beyond it with three degrees of freedom: half
# of the chance of 1 % that a sound session is declared invalid.
@pytest.mark.parametrize(("t", "found"), [(5.80, False), (5.88, True)])
@pytest.mark.parametrize("sign", [1, -1])
def test_each_of_the_two_tests_has_half_of_the_chance(t, found, sign):
    error = 1e-3
    # The standard error of these four is a third of their root of three.
    blocks = sign * (RULES.margin + t * error + error * np.sqrt(3) * np.array([-1, 1, 1, -1]))
    control = effects([blocks])
    assert estimate(control).error[0] == pytest.approx(error)
    assert find_differing(estimate(control), RULES).tolist() == [found]
    assert is_shifted(control, RULES) is found
