"""The probabilities of commits, and which one is measured next."""

import numpy as np
import pytest
from scipy.stats import t

from opperf.history.bisection.posterior import Estimate, Search, _log_density

LOSS = 0.05


def exact(effect):
    return Estimate(effect, 1e-4, 1e6)


def searched(last, first_bad, **options):
    """Returns a search whose steps are exact, and the positions it has asked for."""
    search = Search(last, **options)
    search.add(last, exact(LOSS))
    asked = []
    while (place := search.choose()) is not None:
        asked.append(place)
        search.add(place, exact(LOSS if place >= first_bad else 0.0))
    return search, asked


@pytest.mark.parametrize("first_bad", [1, 2, 17, 63, 64])
def test_exact_steps_halve_the_commits(first_bad):
    search, asked = searched(64, first_bad, build_scatter=1e-3)
    assert search.answer()[:2] == (first_bad, first_bad)
    assert len(asked) == 6


def test_one_commit_needs_no_step():
    search, asked = searched(1, 1)
    assert (search.answer()[:2], asked) == ((1, 1), [])


def test_probabilities_are_a_distribution_that_begins_uniform():
    search = Search(5)
    search.add(5, exact(LOSS))
    assert search.probabilities() == pytest.approx(dict.fromkeys(range(1, 6), 0.2))


def test_a_wrong_step_is_contradicted_by_later_ones():
    """At 12 of 16 the loss began; the step at 8 says that it was there already."""
    search = Search(16)
    noisy = Estimate(LOSS, 0.02, 8, 6)
    search.add(16, noisy)
    search.add(8, noisy)
    truth = {place: noisy._replace(effect=LOSS if place >= 12 else 0.0) for place in range(1, 17)}
    assert search.probabilities()[12] < 0.05
    while (place := search.choose()) is not None:
        search.add(place, truth[place])
    assert search.answer()[:2] == (12, 12)
    assert len(search.estimates[8]) > 1 or len(search.estimates[11]) > 1


def test_skipped_commits_are_a_range_with_the_next_one():
    search = Search(10)
    search.skipped.update({4, 5})
    search.add(10, exact(LOSS))
    for place, effect in ((3, 0.0), (6, LOSS)):
        search.add(place, exact(effect))
    assert search.is_settled
    assert search.answer()[:2] == (4, 6)
    assert search.choose() is None


def test_what_builds_differ_by_ends_the_search_without_an_answer():
    """A loss as small as what two builds of the same code differ by."""
    search = Search(8, build_scatter=LOSS)
    search.add(8, exact(LOSS))
    for _ in range(200):
        place = search.choose()
        if place is None:
            break
        search.add(place, exact(LOSS if place >= 5 else 0.0))
    assert place is None
    assert not search.is_settled
    answer = search.answer()
    assert answer.first < answer.last
    assert answer.probability >= 0.95


def test_a_step_of_a_busy_machine_keeps_its_own_scatter():
    search = Search(8)
    for place in (8, 2, 3, 4):
        search.add(place, Estimate(LOSS if place >= 5 else 0.0, 0.005, 8, 8))
    search.add(6, Estimate(0.0, 0.08, 8, 8))
    pooled = search.pooled()
    assert pooled[2].error == pytest.approx(0.005, rel=0.01)
    assert pooled[6].error > 0.04


def test_the_loss_is_that_of_both_sides():
    search, _ = searched(16, 9)
    effect, error = search.loss(9)
    assert effect == pytest.approx(LOSS, abs=0.01)
    assert 0 < error < 0.01
    assert search.misfits(9) == []


def test_a_commit_between_the_levels_does_not_fit():
    search, _ = searched(16, 9, build_scatter=1e-3)
    search.add(12, exact(0.4 * LOSS))
    search.estimates[12] = search.estimates[12][-1:]
    assert search.misfits(9) == [12]


def test_answers_are_right_as_often_as_they_say():
    """Forty searches of noisy steps: of answers at 95 %, five of forty may be wrong by chance once
    in a hundred times."""
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        first_bad = int(rng.integers(1, 13))
        search = Search(12, build_scatter=1e-3)

        def measure(place, rng=rng, first_bad=first_bad):
            blocks = rng.normal(LOSS if place >= first_bad else 0.0, 0.03, 8)
            return Estimate(blocks.mean(), blocks.std(ddof=1) / np.sqrt(8), 7, 8)

        search.add(12, measure(12)._replace(effect=LOSS))
        for _ in range(40):
            place = search.choose()
            if place is None:
                break
            search.add(place, measure(place))
        answer = search.answer()
        wrong += not answer.first <= first_bad <= answer.last
    assert wrong <= 5


@pytest.mark.parametrize("freedom", [0.3, 2.5, 40.0, 1e6, 1e20])
def test_the_density_is_that_of_student(freedom):
    values = np.linspace(-9, 9, 81)
    expected = t.logpdf(values, freedom)
    np.testing.assert_allclose(_log_density(values, freedom), expected, rtol=1e-12)
