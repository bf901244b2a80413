"""The best time of a visit: what costs least for the same standard error."""

import math

import pytest

from opperf.statistics.design import best_seconds


@pytest.mark.parametrize(
    ("cost_s", "sample", "visit"), [(0.03, 9e-6, 1.7e-4), (0.5, 9e-6, 1e-5), (0.01, 1e-3, 1e-4)]
)
def test_no_other_time_reaches_an_error_sooner(cost_s, sample, visit):
    def seconds_for_a_variance(time_s):
        return (cost_s + time_s) * (visit + sample / time_s)

    best = best_seconds(cost_s, sample, visit)
    least = seconds_for_a_variance(best)
    assert all(seconds_for_a_variance(best * factor) > least for factor in (0.5, 0.9, 1.1, 2.0))


def test_what_scatters_within_only_is_measured_as_long_as_may_be():
    assert best_seconds(0.03, 1e-6, 0.0) == math.inf
    assert best_seconds(0.03, 0.0, 0.0) == 0.0
