"""Benjamini and Hochberg's correction, on the p-values of their paper."""

import numpy as np
import pytest

from opperf.statistics.false_discovery import level_of_next, reject

# The fifteen p-values of the paper's section 3.2, of which it rejects four at 0.05.
PAPER = np.array(
    [
        *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
        *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
    ]
)


def test_as_many_are_rejected_as_in_the_paper():
    assert reject(PAPER, 0.05).tolist() == [True] * 4 + [False] * 11


def test_a_p_value_at_its_level_is_rejected():
    # Of four, the second smallest is held against 2/4 of q: with powers of two nothing is rounded.
    p = np.array([0.5, 0.0625, 0.125, 0.75])
    assert reject(p, 0.25).tolist() == [False, True, True, False]
    assert not reject(p, 0.2499).any()


def test_missing_p_values_are_no_hypotheses():
    mixed = np.insert(PAPER, [0, 3, 15], np.nan)
    assert np.count_nonzero(reject(mixed, 0.05)) == 4
    assert not reject(mixed, 0.05)[np.isnan(mixed)].any()
    assert not reject(np.array([np.nan]), 0.05).any()
    assert not reject(np.array([]), 0.05).any()


def test_the_level_of_the_next_would_be_rejected():
    level = level_of_next(PAPER, 0.05)
    assert level == pytest.approx(0.05 * 5 / 15)
    changed = PAPER.copy()
    changed[7] = level
    assert reject(changed, 0.05)[7]
    changed[7] = level * 1.01
    assert not reject(changed, 0.05)[7]


def test_missing_p_values_do_not_lower_the_level_of_the_next():
    assert level_of_next(np.insert(PAPER, [0, 3], np.nan), 0.05) == level_of_next(PAPER, 0.05)


@pytest.mark.parametrize("p", [[], [np.nan], [0.001], [0.2], [0.001, 0.002]])
def test_the_level_of_the_next_is_q_at_most(p):
    assert level_of_next(np.array(p), 0.05) == 0.05
