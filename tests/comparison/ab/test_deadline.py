"""A session ends with its time."""

import pytest

from opperf.comparison.ab.deadline import Deadline, WithDeadline
from opperf.errors import TimeLimitError
from opperf.model import Status
from tests.comparison.ab.sessions import case, crashed, ok

CASE = case("x", timeout_s=7.0)


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_case_has_no_more_time_than_is_left(clock):
    deadline = Deadline(10.0, clock)
    assert deadline.limit(CASE, "") is CASE
    clock.now += 6
    limited = deadline.limit(CASE, "")
    assert limited.settings.timeout_s == 4.0 and limited.id == CASE.id
    clock.now += 4
    with pytest.raises(TimeLimitError, match="in the 10 s of --timeout: 3 processes measured; "):
        deadline.limit(CASE, "3 processes measured")


def test_without_a_deadline_nothing_is_limited():
    assert Deadline().limit(CASE, "") is CASE
    Deadline().check(crashed(CASE, Status.TIMEOUT), "")


def test_what_the_end_has_stopped_says_nothing_of_the_case(clock):
    deadline = Deadline(10.0, clock)
    deadline.check(crashed(CASE, Status.TIMEOUT), "its own limit")
    clock.now += 10
    for record in (ok(CASE), crashed(CASE)):
        deadline.check(record, "")
    with pytest.raises(TimeLimitError, match="2 of 4"):
        deadline.check(crashed(CASE, Status.TIMEOUT), "2 of 4")


class Schedule:
    def __init__(self):
        self.kept = []

    def visits(self, extend):
        extend(1)
        for _ in range(3):
            yield CASE

    def has_record(self, case):
        return case is CASE

    def keep(self, record):
        self.kept.append(record)
        return [record]


def test_a_schedule_is_checked_before_each_visit_and_after_it(clock):
    inner, extended = Schedule(), []
    schedule = WithDeadline(inner, Deadline(10.0, clock), lambda: f"{len(inner.kept)} kept")
    assert schedule.has_record(CASE)
    visits = schedule.visits(extended.append)
    assert next(visits) is CASE and extended == [1]
    assert schedule.keep(ok(CASE)) == inner.kept
    clock.now += 10
    with pytest.raises(TimeLimitError, match="1 kept"):
        schedule.keep(crashed(CASE, Status.TIMEOUT))
    assert len(inner.kept) == 1
    with pytest.raises(TimeLimitError, match="1 kept"):
        next(visits)
