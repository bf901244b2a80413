"""Checks after each run, with events kept between: what is open, and on which days."""

import pytest

from benchmarks.history.simulated_year import Step, Year, check_days
from opperf.history.events import Kind, State


def states(days, number):
    return [day.events[number].state for day in days if number in day.events]


def test_few_low_points_do_not_fix_a_loss_and_it_is_open_to_the_end():
    up, low = Step(0, 20, 1.2), (Step(0, 30, 1 / 1.2), Step(0, 33, 1.2))
    year = Year(series=12, days=73, sd=0.01, steps=(up, *low))
    days = list(check_days(year, 1, upto=46, start=24))
    assert all(0 in day.open_rows() for day in days if day.day >= 24)
    assert set(states(days, 1)) == {State.NEW}


def test_a_fix_closes_a_loss_when_it_is_as_clear_as_the_loss_was():
    steps = (Step(0, 20, 1.2), Step(0, 30, 1 / 1.2), Step(0, 40, 1.2))
    days = list(check_days(Year(series=12, days=48, sd=0.01, steps=steps), 2, start=24))
    is_open = {day.day: 0 in day.open_rows() for day in days}
    for begin, end, expected in ((23, 29, True), (33, 39, False), (43, 48, True)):
        assert {is_open[day] for day in range(begin, end)} == {expected}


def test_a_bad_run_of_a_machine_is_closed_by_the_next_one():
    days = list(check_days(Year(series=12, days=45, sd=0.01, bad_days=(40,)), 3, start=39))
    opened = {day.day: [event for event in day.events.values() if event.is_open] for day in days}
    assert [event.kind for event in opened[40]] == [Kind.MACHINE] and not opened[41]


@pytest.mark.parametrize("offset", [-2, 0, 3])
def test_a_loss_near_a_replacement_is_found_on_the_new_machine_and_older_ones_go_with_the_old(
    offset,
):
    steps = (Step(0, 25, 1.3), Step(1, 40 + offset, 1.2))
    year = Year(series=20, days=52, sd=0.01, steps=steps, replaced=40)
    last = list(check_days(year, 4, upto=51, start=38))[-1]
    (loss,) = (event for event in last.events.values() if event.is_open)
    assert loss.environment == "second" and last.rows[loss.series] == 1
    assert State.GONE in {event.state for event in last.events.values()}


def test_a_clear_step_is_not_withheld_as_a_drift_and_small_ones_are_found():
    steps = (Step(0, 30, 1.1), Step(1, 60, 1.05))
    *_, last = check_days(Year(series=20, days=80, sd=0.02, steps=steps), 5, start=70)
    assert {0, 1} <= set(last.open_rows())
    assert not [noted for noted in last.checked.notes if "+0.0" in noted.note.message]


def test_a_drift_is_named_with_its_series():
    year = Year(series=12, days=200, sd=0.02, drifts={7: 0.2})
    *_, last = check_days(year, 6, start=199)
    (noted,) = last.checked.notes
    assert last.rows[noted.series] == 7 and "drift" in noted.note.message
    assert len(noted.commit) == 40
