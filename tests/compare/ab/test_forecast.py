"""How long a session takes, and what fits into a budget."""

from types import SimpleNamespace

import msgspec
import pytest

from opperf.compare.ab.forecast import Forecast, check_budget, forecast_of, forecast_text
from opperf.compare.ab.procedure import Stage
from opperf.compare.ab.session import ReplicateLine
from opperf.compare.statistics.data import Replicate, Thresholds
from opperf.errors import UsageError

SHORT = Thresholds(control_blocks=2, block_cap=6)
TEN = Forecast({f"case{number}": 1.2 for number in range(10)}, start_s=2.5, later_start_s=1.5)
"""Ten cases of a second each, without anything beside it."""


def test_a_stage_takes_its_processes_and_their_visits():
    assert TEN.stage_s(Stage("comparison", 0, 3, ())) == pytest.approx(4 * 3 * (2 + 12))
    some = Stage("comparison", 4, 3, ("case1 forward", "case1 backward", "case2 forward"))
    assert TEN.stage_s(some) == pytest.approx(4 * 3 * (2 + 2.4))


def test_the_first_process_of_an_arm_in_a_block_takes_longer_to_start():
    header = SimpleNamespace(visit_s=TEN.visit_s, start_s=2.5, later_start_s=1.5)

    def line(block, position, arm, wall_s):
        replicate = Replicate(
            "comparison", block, position, arm, dict.fromkeys(header.visit_s, 1.0)
        )
        return ReplicateLine(replicate, "", wall_s)

    assert TEN.starts_s == pytest.approx(2 * 2.5 + 2 * 1.5)
    expected = [(0, 0, "A", 2.5), (0, 1, "B", 2.5), (0, 2, "B", 1.5), (1, 0, "B", 2.5)]
    lines = [line(*place, 2 * (start_s + 12)) for *place, start_s in expected]
    assert forecast_of(header, lines).factor == pytest.approx(2.0)


def test_half_of_the_figures_count_after_the_first_look():
    assert TEN.first_look_s(SHORT) == pytest.approx(4 * (2 + 4) * (2 + 12))
    assert TEN.rest_s(SHORT) == pytest.approx(4 * 2 * (2 + 12 / 2))
    assert TEN.rest_s(Thresholds(block_cap=3)) == 0.0


def test_a_forecast_is_corrected_by_what_was_seen():
    slower = msgspec.structs.replace(TEN, factor=1.5)
    assert slower.total_s(SHORT) == pytest.approx(1.5 * TEN.total_s(SHORT))


def test_the_whole_in_words():
    assert forecast_text(TEN, SHORT) == (
        "24 processes up to the first look take about 5 min 36 s; what is undecided then takes up "
        "to 8 processes more, about 1 min 04 s"
    )
    assert forecast_text(TEN, Thresholds(control_blocks=2, block_cap=3)) == (
        "20 processes up to the first look take about 4 min 40 s"
    )


def test_what_fits_is_not_refused():
    check_budget(TEN, SHORT, 1.0, None)
    check_budget(TEN, SHORT, 1.0, 400.0)


def test_what_does_not_fit_is_refused_with_what_would():
    with pytest.raises(UsageError) as caught:
        check_budget(TEN, SHORT, 1.0, 300.0)
    assert str(caught.value) == (
        "the session would take about 6 min 40 s and --budget allows 5 min 00 s: "
        "7 cases of 10 or --case-time 0.7 or 3 blocks at most would fit"
    )
    # They do.
    check_budget(Forecast({str(n): 1.2 for n in range(7)}, 2.5, 1.5), SHORT, 1.0, 300.0)
    check_budget(Forecast({str(n): 1.2 * 0.7 for n in range(10)}, 2.5, 1.5), SHORT, 0.7, 300.0)
    check_budget(TEN, Thresholds(control_blocks=2, block_cap=3), 1.0, 300.0)


def test_a_case_time_that_fits_is_rounded_down():
    with pytest.raises(UsageError, match=r"--case-time 0\.86 or"):
        check_budget(TEN, SHORT, 1.0, 355.0)


def test_a_budget_that_no_single_change_meets():
    with pytest.raises(UsageError, match="50 s: choose fewer cases and fewer --blocks$"):
        check_budget(TEN, SHORT, 1.0, 50.0)
