"""Whether A differs from itself."""

import numpy as np
import pytest

from opperf.statistics.blocks import Effects
from opperf.statistics.common_shift import fault, p_cases, p_shift
from opperf.statistics.data import Thresholds
from opperf.statistics.paired_t import Estimate, estimate, p_beyond

RULES = Thresholds()


def effects(values):
    values = np.asarray(values, dtype=float)
    return Effects(values, np.zeros(len(values)))


def drawn(cases, control=0.0, sd=0.02, seed=0, common=0.0):
    """Two control blocks in which cases differ by `control`, and four of A and B."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0, sd, (cases, 6)) + rng.normal(0, common, (1, 6))
    values[:, :2] += np.reshape(control, (-1, 1))
    return effects(values[:, :2]), effects(values[:, 2:])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_common_shift_is_a_fault(sign):
    control, others = drawn(20, sign * 0.1)
    share = np.expm1(np.median(control.values, axis=0).mean())
    found = fault(control, others, RULES)
    assert found == f"A differs from itself by {share:+.1%} in all cases together"
    # It is no difference between cases.
    assert p_cases(control, others, RULES) > 0.1


def test_cases_that_differ_each_its_own_way_are_a_fault():
    control, others = drawn(20, 0.1 * np.tile([1, -1], 10))
    assert p_shift(control, others, RULES) > 0.1
    found = fault(control, others, RULES)
    assert found == "A differs from itself by 9.7% in the median case, in either direction"


def test_no_case_alone_is_a_fault():
    for cases in (2, 3, 20):
        control, others = drawn(cases, sd=0.001, seed=1)
        control.values[0] = 0.0 if cases == 2 else 5.0
        assert not fault(control, others, RULES)


def test_a_case_alone_is_tested_by_its_shift():
    control, others = drawn(1, 1.0)
    assert np.isnan(p_cases(control, others, RULES))
    assert fault(control, others, RULES).endswith(" in all cases together")


def test_what_a_and_b_differ_by_is_no_fault():
    control, others = drawn(20)
    apart = effects(others.values + 0.5 * np.tile([1, -1], 10)[:, None])
    assert not fault(control, apart, RULES)
    assert p_cases(control, apart, RULES) > 0.5


def test_two_cases_have_one_difference():
    control, others = drawn(2, sd=0.05, seed=3)
    half = [(one.values[:1] - one.values[1:]) / 2 for one in (control, others)]
    found, scatter = estimate(effects(half[0])), estimate(*map(effects, reversed(half)))
    of = Estimate.of(found.mean, scatter.deviation**2, found.n, scatter.freedom)
    (p,) = p_beyond(of, RULES.margin)
    assert 0.01 < p < 0.9
    assert p_cases(control, others, RULES) == pytest.approx(p)


def test_a_difference_within_the_threshold_is_no_fault():
    control, others = drawn(20, 0.015 * np.tile([1, -1], 10), sd=0.001)
    assert not fault(control, others, RULES)
    control, others = drawn(20, 0.015, sd=0.001)
    assert not fault(control, others, RULES)


def test_the_mirror_image_has_the_same_p_values():
    control, others = drawn(20, 0.02)
    mirrored = effects(-control.values), effects(-others.values)
    assert p_cases(*mirrored, RULES) == pytest.approx(p_cases(control, others, RULES))
    assert p_shift(*mirrored, RULES) == pytest.approx(p_shift(control, others, RULES))


def test_each_of_the_two_tests_has_half_of_the_chance():
    # One case: four degrees of freedom, of which 4.604 leaves half a percent by a table.
    blocks = np.array([-1.0, 1.0])
    four = np.array([-1, 1, 1, -1]) * np.sqrt(0.5)
    # Squares of 2 and 2, over four degrees: a deviation of 1, and an error of root of a half.
    for t, found in ((4.50, False), (4.70, True)):
        mean = RULES.margin + 0.01 * t * np.sqrt(0.5)
        control = effects([mean + 0.01 * blocks])
        assert bool(fault(control, effects([0.01 * four]), RULES)) is found


def test_cases_that_failed_have_no_part():
    control, others = drawn(20, 0.1 * np.tile([1, -1], 10))
    before = p_cases(control, others, RULES)
    lost = np.full((3, 2), np.nan), np.full((3, 4), np.nan)
    more = (
        effects(np.vstack([one.values, nothing]))
        for one, nothing in zip((control, others), lost, strict=True)
    )
    assert p_cases(*more, RULES) == pytest.approx(before)
    nothing = effects(lost[0]), effects(lost[1])
    assert not fault(*nothing, RULES)


@pytest.mark.parametrize("cases", [1, 5, 30])
@pytest.mark.parametrize("common", [0.0, 0.1])
def test_a_sound_session_is_rarely_invalid(cases, common):
    """Also where a block disturbs all cases alike by as much as they scatter."""
    faults = sum(
        bool(fault(*drawn(cases, sd=0.1, seed=seed, common=common), RULES)) for seed in range(100)
    )
    # Of 100 at 1 %, more than five are one in two thousand.
    assert faults <= 5
