"""The smallest change that blocks could have found."""

import numpy as np
import pytest
from scipy import stats

from opperf.statistics.paired_t import smallest_detectable


def detectable(error, freedom, level, margin=0.02):
    arrays = (np.array([value], dtype=float) for value in (error, freedom))
    return smallest_detectable(*arrays, margin, np.array([level]))[0]


@pytest.mark.parametrize("freedom", [2, 4, 11, 24, 100])
@pytest.mark.parametrize("level", [0.0005, 0.01, 0.05])
def test_a_change_of_that_size_is_found_four_times_of_five(freedom, level):
    error = 0.01
    found = detectable(error, freedom, level)
    power = stats.nct.sf(stats.t.isf(level, freedom), freedom, (found - 0.02) / error)
    assert power == pytest.approx(0.8, abs=0.005)


def test_it_lies_beyond_the_margin_and_grows_with_the_error():
    assert detectable(1e-12, 4, 0.05) == pytest.approx(0.02)
    near, far = detectable(0.01, 4, 0.05), detectable(0.02, 4, 0.05)
    assert far - 0.02 == pytest.approx(2 * (near - 0.02))
    assert detectable(0.01, 4, 0.01) > near > detectable(0.01, 40, 0.05)


def test_each_case_has_its_own_level_and_none_without_an_error():
    found = smallest_detectable(
        np.array([0.01, 0.01, np.nan]), np.array([4.0, 4.0, 0.0]), 0.0, np.array([0.05, 0.01, 0.05])
    )
    assert found[:2] == pytest.approx([detectable(0.01, 4, level, 0.0) for level in (0.05, 0.01)])
    assert np.isnan(found[2])
