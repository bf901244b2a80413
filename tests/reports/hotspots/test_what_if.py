"""The time of a program with faster operators."""

import pytest

from opperf.errors import UsageError
from opperf.reports.hotspots.account import accounts_of
from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.hotspots.what_if import forecasts
from tests.recordings import THERE, called, measured, recording, site


@pytest.fixture
def run():
    """A step of 20 us, of which operators take 16."""
    cases = (
        called("add", site("a", 4), overload="Tensor"),
        called("add", site("a", 4), overload="Scalar"),
        called("mm", site("a", 8)),
    )
    return recording(*cases, step_us=[20.0] * 9)


def changed(run, **factors):
    (made,) = forecasts(find_hotspots([run]), accounts_of([run]), factors)
    return made


def test_the_program_saves_what_the_operator_saves(run):
    made = changed(run, mm=0.5)
    (row,) = made.rows
    assert (row.time_ns, row.program_ns, row.then_ns, row.share) == (8e3, 20e3, 16e3, 0.4)
    assert made.is_step and not made.is_scaled


def test_an_operator_is_all_its_overloads_or_one(run):
    both, one = changed(run, add=0).rows[0], changed(run, **{"add.Tensor": 0}).rows[0]
    assert (both.then_ns, one.then_ns) == (12e3, 16e3)


def test_several_operators_add_up(run):
    *_, last = changed(run, mm=0.5, add=0.5, **{"add.Scalar": 0.0}).rows
    assert (last.factor, last.time_ns, last.then_ns) == (None, 16e3, 20e3 - 4e3 - 2e3 - 4e3)


def test_more_than_the_step_counts_by_shares(run):
    times = {"mm": 20.0, "add.Tensor": 10.0, "add.Scalar": 10.0}
    made = changed(measured(run, times, environment=THERE), mm=0.5)
    assert made.is_scaled and made.rows[0].then_ns == pytest.approx(15e3)


def test_times_of_another_machine_count_as_recorded(run):
    made = changed(measured(run, {"mm": 1.0, "add.Tensor": 1.0, "add.Scalar": 1.0}), mm=0.5)
    assert made.rows[0].then_ns == 16e3 and not made.is_scaled


def test_without_a_step_it_is_the_operators_time(run):
    alone = recording(*run.cases)
    made = changed(alone, mm=0.0)
    assert not made.is_step and made.rows[0].program_ns == 16e3 and made.rows[0].then_ns == 8e3


def test_a_run_of_no_program_has_the_time_of_its_calls(program):
    (made,) = forecasts(find_hotspots([program]), [], {"mm": 0.5})
    assert not made.is_step and made.rows[0].then_ns == pytest.approx(60e3)


def test_names_and_times_are_needed(run):
    with pytest.raises(UsageError, match="no operator 'addd' has a time; did you mean add"):
        changed(run, addd=0.5)
    untimed = recording(called("mm", site("a")), step_us=[1.0, 1.0])
    with pytest.raises(UsageError, match="--what-if needs times, and the file has none"):
        changed(untimed, mm=0.5)
