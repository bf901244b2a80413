"""Levels before and after a split: intervals, and where later points put the split."""

import numpy as np
import pytest

from opperf.history.detection.levels import compare_levels, pending, refine


def test_interval_covers_the_shift_as_often_as_it_says():
    rng = np.random.default_rng(1)
    shifts = [compare_levels(rng.normal(0, 1, 40), rng.normal(2, 1, 8)) for _ in range(300)]
    covered = np.mean([one.low <= 2 <= one.high for one in shifts])
    # 95 %, and more as neighbours that resemble each other by chance only widen it.
    assert covered > 0.92


def test_interval_has_the_ratio_of_medians_where_points_are_in_two_groups():
    before = np.array([0.0, 0, 0, 0, 1, 1, 1, 1, 1])
    found = compare_levels(before, np.array([0.0, 0, 0, 1, 1]))
    assert found.low <= found.shift <= found.high and found.shift == -1


@pytest.mark.parametrize("given", [18, 20, 23])
def test_later_points_move_a_split(given: int):
    logs = np.repeat([0.0, 1.0], 20) + 1e-3 * np.arange(40)
    assert refine(logs, 0.1, given, 0, 40) == 20


def test_split_far_from_where_it_was_found_is_another_one():
    logs = np.repeat([0.0, 1.0], 20)
    assert refine(logs, 0.1, 35, 0, 40) == 35


def test_points_are_pending_from_the_first_that_all_later_ones_are_like():
    logs = np.concatenate([np.zeros(20), [0.0, 1.0, 1.0]])
    assert pending(logs, 0.1, 0) == 21
    assert pending(np.zeros(20), 0.1, 0) == 20
    assert pending(np.concatenate([np.zeros(20), [1.0, -1.0]]), 0.1, 0) == 21
