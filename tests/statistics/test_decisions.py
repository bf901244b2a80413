"""Decisions from estimates, look by look."""

import numpy as np
import pytest
from scipy import stats

from opperf.statistics.data import Thresholds
from opperf.statistics.decisions import Decisions, look, nominal_level
from opperf.statistics.paired_t import Estimate

RULES = Thresholds()
MARGIN, SAME = RULES.margin, RULES.same_margin
KNOWN = 1e6
"""Degrees of freedom of a scatter that is all but known."""


def looked(*means, sd=0.01, rules=RULES, freedom=KNOWN):
    """The decisions after a look at each of these means, by case; of one or two cases no variance
    is moderated."""
    found = Decisions.none(len(means[0]))
    for n, mean in zip(rules.looks, means, strict=False):
        mean = np.array(mean, dtype=float)
        blocks = np.where(np.isnan(mean), 0.0, n)
        known = np.where(np.isnan(mean), 0.0, freedom)
        look([found], [Estimate.of(mean, np.full(len(mean), sd**2), blocks, known)], rules)
    return found


def at_boundary(place, level, factor):
    """A mean whose nominal p-value is that of the boundary at a look, or a factor off it."""
    nominal = factor * nominal_level(level, place, RULES.looks)
    return stats.norm.isf(nominal) * 0.01 / np.sqrt(RULES.looks[place])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("factor", "changed"), [(0.97, True), (1.03, False)])
def test_a_case_changes_at_the_boundary_of_its_look(sign, factor, changed):
    for place in range(3):
        means = [[0.0]] * place + [[sign * (MARGIN + at_boundary(place, 0.05, factor))]]
        found = looked(*means, sd=0.01, rules=Thresholds(same_within=1e-6))
        assert found.changed.tolist() == [changed]
        assert bool(found.p_changed[0] <= 0.05) is changed


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("factor", "same"), [(0.97, True), (1.03, False)])
def test_a_case_is_the_same_at_the_boundary_of_its_look(sign, factor, same):
    found = looked([sign * (SAME - at_boundary(0, 0.05, factor))])
    assert found.same.tolist() == [same] and not found.changed.any()
    # Its bounds are those by which it is, or is not, the same.
    assert bool(max(abs(found.low[0]), abs(found.high[0])) < SAME) is same


def test_changed_has_precedence_over_same():
    found = looked([0.03], sd=1e-4)
    assert found.p_same[0] <= RULES.same_level
    assert (found.changed.tolist(), found.same.tolist()) == ([True], [False])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_case_that_is_the_same_by_an_estimate_beyond_the_threshold_is_measured_on(sign):
    first = [sign * 0.027, 0.019]
    found = looked(first, sd=0.008)
    assert (found.same.tolist(), found.decided.tolist()) == ([True, True], [False, True])
    # Later blocks may show that it has changed, or not.
    for later, changed, same in ((0.03, True, False), (0.01, False, True)):
        found = looked(first, [sign * later, 0.9], sd=0.008)
        assert (found.changed[0], found.same[0], found.decided[0]) == (changed, same, True)
        assert (found.mean[1], found.n[1]) == (0.019, 4)


def test_a_decided_case_keeps_its_figures():
    once = looked([0.0, 0.03])
    twice = looked([0.0, 0.03], [0.9, 0.031])
    assert once.same.tolist() == twice.same.tolist() == [True, False]
    for name in ("mean", "low", "high", "error", "n", "p_changed", "p_same", "place"):
        assert getattr(twice, name)[0] == getattr(once, name)[0]
    assert (twice.mean[1], twice.n[1], twice.place[1], twice.looks) == (0.031, 6, 1, 2)


def test_p_values_only_fall():
    found = looked([0.029], [0.026])
    assert found.p_changed[0] == looked([0.029]).p_changed[0] < 1.0
    assert looked([0.0295], [0.0305]).p_changed[0] < looked([0.0295]).p_changed[0] < 1.0


def test_the_correction_counts_all_cases():
    mean = MARGIN + at_boundary(0, 0.05, 0.9)
    assert looked([mean]).changed.tolist() == [True]
    assert looked([mean, 0.02]).changed.tolist() == [False, False]
    assert looked([mean, 0.5]).changed.tolist() == [True, True]
    # A case that failed is no hypothesis.
    assert looked([mean, np.nan]).changed.tolist() == [True, False]


def test_an_early_p_value_that_later_blocks_contradict_is_no_change():
    """At the first look, p of the first case is 0.04, too much for one of two. At the second, the
    other has changed, and it would be enough."""
    early, open_ = MARGIN + at_boundary(0, 0.04, 1.0), (MARGIN + SAME) / 2
    for sign in (1, -1):
        for later in (1.01, 0.9, -0.9, -1.01):
            found = looked([sign * early, open_], [sign * later * MARGIN, 0.5])
            assert found.p_changed[0] == pytest.approx(0.04, rel=1e-3)
            assert found.changed.tolist() == [later > 1, True]


def test_the_mirror_image_of_a_session_has_mirrored_decisions():
    rng = np.random.default_rng(2)
    means = rng.normal(0.025, 0.02, (2, 30))
    there, back = (looked(*of, sd=0.02, freedom=5.0) for of in (means, -means))
    assert there.changed.any() and there.same.any() and not there.decided.all()
    np.testing.assert_array_equal(there.changed, back.changed)
    np.testing.assert_array_equal(there.same, back.same)
    np.testing.assert_allclose(there.p_changed, back.p_changed)
    np.testing.assert_allclose(there.low, -back.high)


def test_variances_are_moderated():
    alone = looked([0.05] * 2, freedom=3.0)
    many = looked([0.05] * 20, freedom=3.0)
    assert (alone.freedom[0], many.freedom[0]) == (3.0, pytest.approx(23.0))
    assert many.p_changed[0] < alone.p_changed[0]


def test_a_case_that_starts_to_work_is_judged_from_then_on():
    found = looked([np.nan, 0.0], [0.2, 0.0])
    assert (found.changed.tolist(), found.n.tolist()) == ([True, False], [6.0, 4.0])
    never = looked([np.nan, np.nan])
    assert not never.decided.any() and np.isnan(never.p_changed).all()
