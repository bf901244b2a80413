"""Which commits are measured, in what order, and what a history keeps of attempts."""

import pytest

from opperf.errors import UsageError
from opperf.history.attempts import (
    ASKED,
    BUILT,
    FAILS,
    LACKS,
    Attempt,
    Keys,
    Outcome,
    earlier_attempt,
    ends_first,
    find_attempts,
    thin_out,
    without_points,
)
from opperf.history.model import StoredRun
from opperf.history.stopped import find_stopped
from opperf.history.store.adding import add_runs
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project
from opperf.history.timelines import read_history, read_outcomes
from opperf.repository import Commit
from tests.history.submissions import entry, submission

KEYS = Keys("built", "asked")


def test_the_ends_come_first_and_then_the_middles_of_the_largest_gaps():
    assert list(ends_first(9)) == [8, 0, 4, 6, 2, 7, 5, 3, 1]
    assert [list(ends_first(count)) for count in range(4)] == [[], [0], [1, 0], [2, 0, 1]]
    for count in (10, 37):
        order = list(ends_first(count))
        assert sorted(order) == list(range(count))
        for reached in range(2, count):
            seen = sorted(order[:reached])
            gaps = [after - before for before, after in zip(seen, seen[1:], strict=False)]
            # No gap is more than the double of an even spacing, rounded up.
            assert max(gaps) <= 2 * -(-(count - 1) // (reached - 1))


@pytest.mark.parametrize(
    ("steps", "every", "chosen"),
    [
        (None, None, list(range(10))),
        (1, None, [9]),
        (2, None, [0, 9]),
        (4, None, [0, 3, 6, 9]),
        (99, None, list(range(10))),
        (None, 4, [1, 5, 9]),
        (None, 99, [9]),
    ],
)
def test_commits_are_thinned_out_and_keep_the_last(steps, every, chosen):
    assert thin_out(range(10), steps, every) == chosen


def test_two_ways_to_thin_out_are_refused():
    with pytest.raises(UsageError, match="give one of them"):
        thin_out(range(10), 2, 2)


def stored(number, sha, labels, added=0.0):
    return StoredRun(
        number, f"{number}", Commit(sha), "main", False, 0.0, added, "opperf", "", labels
    )


def test_attempts_are_found_by_what_was_asked_or_how_it_was_built():
    runs = [
        stored(1, "a", {ASKED: "asked"}, added=2.0),
        stored(2, "a", {BUILT: "built", FAILS: "no"}, added=1.0),
        stored(3, "b", {ASKED: "other"}),
        stored(4, "c", {}),
        stored(5, "d", {BUILT: "other"}),
    ]
    found = find_attempts(runs, KEYS)
    assert {sha: [run.id for run in own] for sha, own in found.items()} == {"a": [2, 1]}


@pytest.mark.parametrize(
    ("labels", "figures", "attempt"),
    [
        ({}, 2, Attempt(Outcome.THERE)),
        ({LACKS: "f"}, 2, Attempt(Outcome.THERE, why="lacks f")),
        ({LACKS: "f"}, 0, Attempt(Outcome.LACKING, why="lacks f")),
        ({FAILS: "no"}, 0, Attempt(Outcome.FAILED_BEFORE, why="no", has_failures=True)),
        ({FAILS: "no"}, 2, Attempt(Outcome.THERE, why="no", has_failures=True)),
    ],
)
def test_an_earlier_attempt_is_what_its_run_says(labels, figures, attempt):
    run = stored(1, "a", labels)
    assert earlier_attempt(run, figures, False) == attempt
    assert earlier_attempt(run, figures, True) == attempt._replace(has_failures=True)


def test_attempts_without_points_are_one_run_for_each_commit_and_key():
    def made(sha, labels):
        return without_points(Commit(sha), "main", labels, "opperf run f")

    ids = {made(sha, labels).id for sha in "ab" for labels in ({ASKED: "1"}, {BUILT: "2"})}
    assert len(ids) == 4
    assert made("a", {ASKED: "1", LACKS: "f"}).id == made("a", {ASKED: "1", FAILS: "g"}).id


def test_commits_that_lack_what_was_asked_stop_its_series_and_those_that_fail_do_not(tmp_path):
    for labels, stopped in (({LACKS: "f"}, ["missing"]), ({FAILS: "no"}, [])):
        with Store(str(tmp_path / f"{len(stopped)}.sqlite")) as store:
            measured = submission(1, entry(), command="opperf run f")
            later = [
                without_points(
                    submission(day).commit, "main", labels | {ASKED: "1"}, measured.command
                )
                for day in (2, 3, 4)
            ]
            add_runs(store, "p", [measured, *later])
            history = read_history(store, find_project(store))
            found = find_stopped(
                history, read_outcomes(store, find_project(store), history), "main"
            )
        assert [stop.event.method for stop in found] == stopped
