"""The rate at which a forward pass moves bytes."""

import pytest

from opperf.results.bandwidth import bandwidth_of
from tests.results.conftest import summary


def test_the_rate_is_bytes_over_the_time_with_the_bounds_the_other_way_round(make_point):
    found = bandwidth_of(make_point(time=1000.0, moved=4000))
    assert found.value == 4.0
    assert found.low == pytest.approx(4000 / 1050) and found.high == pytest.approx(4000 / 950)


def test_a_time_without_an_interval_gives_a_rate_without_one(make_point):
    single = {"forward": summary(1000.0, ci_low=float("nan"), ci_high=float("nan"))}
    found = bandwidth_of(make_point(moved=4000, summaries=single))
    assert found == (4.0, None, None)


@pytest.mark.parametrize("changes", [{"moved": 0}, {"time": 0.0, "moved": 8}])
def test_there_is_no_rate_without_bytes_or_time(make_point, changes):
    assert bandwidth_of(make_point(**changes)) is None
    backward = {"backward": summary(5.0)}
    assert bandwidth_of(make_point(moved=8, summaries=backward)) is None
