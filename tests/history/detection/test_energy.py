"""The energy statistic by its definition, and E-divisive beside another library's change points."""

from itertools import combinations

import numpy as np
import pytest

from opperf.history.detection.energy import (
    best_split,
    best_splits,
    combine,
    e_divisive,
    prefix_sums,
    ratio,
    weights,
)


def by_definition(values: np.ndarray, split: int, end: int) -> float:
    one, other = values[:split], values[split:end]
    between = np.mean([abs(x - y) for x in one for y in other])
    within = [np.mean([abs(x - y) for x, y in combinations(side, 2)]) for side in (one, other)]
    return len(one) * len(other) / (len(one) + len(other)) * (2 * between - sum(within))


def test_statistic_is_that_of_the_definition_for_every_split_and_end():
    values = np.random.default_rng(3).standard_normal(11)
    statistic = weights(11, 2, 2)
    found = combine(prefix_sums(values), statistic, slice(0, 12), slice(0, 12))
    for end in range(4, 12):
        for split in range(2, end - 1):
            assert found[split, end] == pytest.approx(by_definition(values, split, end))


@pytest.mark.parametrize("least", [0.0, 1.5])
def test_the_best_splits_are_multiples_of_the_mean_distance_of_pairs_on_one_side(least):
    windows = np.random.default_rng(4).standard_normal((5, 14)).astype(np.float32)
    found, splits = best_splits(windows, ratio(14, 3, 2, 6, least))
    for values, ratios, firsts in zip(windows, found, splits, strict=True):
        for end in range(6, 15):
            by_split = {}
            for split in range(3, end - 1):
                pairs = [*combinations(values[:split], 2), *combinations(values[split:end], 2)]
                within = np.mean([abs(x - y) for x, y in pairs])
                by_split[split] = by_definition(values, split, end) / max(within, least)
            best = max(by_split, key=by_split.get)
            assert ratios[end - 6] == pytest.approx(by_split[best], rel=1e-3, abs=1e-4)
            assert firsts[end - 6] == best


def test_best_split_is_searched_over_ends_too():
    values = np.concatenate([np.zeros(10), np.ones(10), np.zeros(10)])
    split = best_split(values + 1e-3 * np.arange(30))
    assert (split.first, split.end) == (10, 20)
    assert best_split(values[:3]).first == 0


LEVELS = {
    "one step": [(40, 0.0), (40, 5.0)],
    "there and back": [(40, 0.0), (30, 5.0), (40, 0.0)],
    "two steps up": [(30, 0.0), (40, 4.0), (30, 9.0)],
}


@pytest.mark.parametrize("name", LEVELS)
def test_change_points_are_those_of_ruptures(name: str):
    ruptures = pytest.importorskip("ruptures")
    rng = np.random.default_rng(5)
    values = np.concatenate([level + rng.standard_normal(n) for n, level in LEVELS[name]])
    known = np.cumsum([n for n, _ in LEVELS[name]])[:-1]
    theirs = ruptures.Dynp(model="l1", min_size=2, jump=1).fit_predict(values, len(known))[:-1]
    ours = e_divisive(values, level=0.01)
    assert len(ours) == len(theirs)
    np.testing.assert_allclose(ours, theirs, atol=1)
    np.testing.assert_allclose(ours, known, atol=1)


def test_a_change_of_spread_alone_is_a_change():
    rng = np.random.default_rng(6)
    values = np.concatenate([rng.normal(0, 1, 80), rng.normal(0, 8, 80)])
    (found,) = e_divisive(values, level=0.01)
    assert abs(found - 80) <= 8


def test_noise_has_no_change_but_at_the_level():
    rng = np.random.default_rng(7)
    found = [e_divisive(rng.standard_normal(24), 0.05, 39, seed=i) for i in range(20)]
    # Of 20 at 5 %, five or more come once in four hundred times.
    assert sum(map(bool, found)) <= 4
