"""How long a session takes, and what fits into a budget."""

import pytest

from opperf.compare.ab.forecast import Forecast, check_budget, forecast_text
from opperf.compare.ab.procedure import Stage
from opperf.compare.statistics.data import Thresholds
from opperf.errors import UsageError

RULES = Thresholds(control_blocks=2, screen_blocks=3, confirm_blocks=4, block_cap=4)
TEN = Forecast({f"case{number}": 1.2 for number in range(10)}, start_s=2.0)
"""Ten cases of a second each, without anything beside it."""


def test_a_stage_takes_its_processes_and_their_visits():
    assert TEN.stage_s(Stage("screen", 0, 3, ())) == pytest.approx(4 * 3 * (2 + 12))
    some = Stage("confirm", 0, 3, ("case1 forward", "case1 backward", "case2 forward"))
    assert TEN.stage_s(some) == pytest.approx(4 * 3 * (2 + 2.4))


def test_a_forecast_is_corrected_by_what_was_seen():
    slower = Forecast(TEN.visit_s, TEN.start_s, factor=1.5)
    assert slower.fixed_s(RULES) == pytest.approx(1.5 * TEN.fixed_s(RULES))


def test_the_whole_in_words():
    assert forecast_text(TEN, RULES) == (
        "control and screen, 20 processes, take about 4 min 40 s; confirming takes about 42 s "
        "more if one figure in 20 is a candidate"
    )
    until_settled = Thresholds(control_blocks=2, screen_blocks=3, confirm_blocks=4, block_cap=16)
    assert forecast_text(TEN, until_settled).endswith(
        "a candidate, and then ambiguous cases get up to 16 blocks"
    )


def test_what_fits_is_not_refused():
    check_budget(TEN, RULES, 1.0, None)
    check_budget(TEN, RULES, 1.0, 322.0)


def test_what_does_not_fit_is_refused_with_what_would():
    with pytest.raises(UsageError) as caught:
        check_budget(TEN, RULES, 1.0, 200.0)
    assert str(caught.value) == (
        "the session would take about 5 min 22 s and --budget allows 3 min 20 s: "
        "5 cases of 10 or --case-time 0.51 would fit"
    )
    # They do.
    check_budget(Forecast({str(n): 1.2 for n in range(5)}, 2.0), RULES, 1.0, 200.0)
    check_budget(Forecast({str(n): 1.2 * 0.51 for n in range(10)}, 2.0), RULES, 0.51, 200.0)


def test_a_budget_that_starting_alone_spends():
    with pytest.raises(UsageError, match="starting its processes alone takes longer; choose fewer"):
        check_budget(TEN, RULES, 1.0, 50.0)
