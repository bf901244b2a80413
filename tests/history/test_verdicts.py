"""What verdicts of two commits decide of the changes between them."""

import msgspec
import pytest

from opperf.formats.model import SeriesKey
from opperf.history.events import DETECTION, Event, Kind, State
from opperf.history.verdicts import NO_CHANGE, SESSION, Evidence, by_figure, decide_events
from opperf.repository import Commit
from opperf.statistics.data import Verdict
from tests.history.sessions import verdict
from tests.history.submissions import DAY, sha

REGRESSED, IMPROVED, SAME = Verdict.REGRESSED, Verdict.IMPROVED, Verdict.SAME

E0 = {"framework": "numpy", "cpu": "a", "threads": {}}


def event(ratio=1.08, good=40, bad=41, id=7, by=DETECTION, **more):
    figures = {"before": 100.0, "after": 100.0 * ratio, "ratio": ratio}
    return Event(Kind.SERIES, "main", "e0", sha(good), sha(bad), 1, id=id, by=by, **figures, **more)


def decided(events, *verdicts, facts=None, is_imported=False):
    """The new states by the events' ids."""
    commits = {
        sha(number): Commit(
            sha(number), position=None if is_imported else number, time=DAY * number
        )
        for number in range(100)
    }
    series = {1: SeriesKey("c0", "forward", "e0")}
    evidence = Evidence(by_figure(verdicts), series, commits, {"e0": E0, **(facts or {})})
    updates = decide_events(events, evidence)
    said = {f"{SESSION} {found.session}": found.sentence for found in verdicts}
    assert all(said[update.who] == update.why for update in updates)
    return {update.event.id: update.event.state for update in updates}


@pytest.mark.parametrize(
    "change, found, state",
    [
        (1.08, verdict(REGRESSED), State.CONFIRMED),
        (0.92, verdict(IMPROVED, 0.92), State.CONFIRMED),
        (1.08, verdict(SAME, 1.001), State.NOISE),
        # A small change may be there within what counts as the same.
        (1.03, verdict(SAME, 1.02), None),
        (1.031, verdict(SAME, 1.02), State.NOISE),
        (0.97, verdict(SAME, 0.98), None),
        (0.969, verdict(SAME, 0.98), State.NOISE),
        (1.03, verdict(SAME, 0.98, a=41, b=40), None),
        (1.032, verdict(SAME, 0.98, a=41, b=40), State.NOISE),
        # One from zero has no ratio.
        (float("nan"), verdict(SAME, 1.0), State.NOISE),
        # In the other direction.
        (1.08, verdict(IMPROVED, 0.92), None),
        (1.08, verdict(Verdict.AMBIGUOUS, 1.03), None),
        # A wider range, and one that has B as the older commit.
        (1.08, verdict(REGRESSED, a=30, b=60), State.CONFIRMED),
        (1.08, verdict(IMPROVED, 0.92, a=41, b=40), State.CONFIRMED),
        (1.08, verdict(REGRESSED, a=41, b=40), None),
        # Not between its commits.
        (1.08, verdict(REGRESSED, a=41, b=60), None),
        (1.08, verdict(SAME, 1.0, a=20, b=40), None),
    ],
)
@pytest.mark.parametrize("is_imported", [False, True])
def test_a_verdict_decides_the_change_between_its_commits(change, found, state, is_imported):
    if is_imported:
        found = msgspec.structs.replace(
            found,
            a=msgspec.structs.replace(found.a, position=None),
            b=msgspec.structs.replace(found.b, position=None),
        )
    expected = {} if state is None else {7: state}
    assert decided([event(change)], found, is_imported=is_imported) == expected


@pytest.mark.parametrize(
    "state, by, changes",
    [
        (State.NEW, DETECTION, True),
        (State.CONFIRMED, f"{SESSION} other", True),
        (State.CONFIRMED, "someone", False),
        (State.CONFIRMED, "opperf history bisect", False),
        (State.BLESSED, "someone", False),
        (State.FIXED, DETECTION, False),
        (State.NOISE, "someone", False),
    ],
)
def test_what_somebody_decided_stays(state, by, changes):
    found = decided([event(state=state, by=by)], verdict(SAME, 1.0))
    assert found == ({7: State.NOISE} if changes else {})


def test_the_latest_verdict_decides_whenever_it_was_added():
    early = verdict(REGRESSED, session="s1", started=DAY * 100)
    late = verdict(SAME, 1.0, session="s2", started=DAY * 101)
    for verdicts in ((early, late), (late, early)):
        assert decided([event()], *verdicts) == {7: State.NOISE}
        noise = event(state=State.NOISE, by=f"{SESSION} s2")
        assert decided([noise], *verdicts) == {}
    # One that decides nothing leaves what an earlier one said.
    open_one = verdict(Verdict.AMBIGUOUS, session="s3", started=DAY * 102)
    assert decided([event()], early, open_one) == {7: State.CONFIRMED}


def test_a_verdict_on_the_sum_of_changes_decides_none():
    both = [event(), event(0.92, 50, 51, id=8)]
    assert decided(both, verdict(SAME, 1.0, a=30, b=60)) == {}
    assert decided(both, verdict(REGRESSED, a=30, b=45)) == {7: State.CONFIRMED}
    # Noise is no change.
    both[1] = msgspec.structs.replace(both[1], state=State.NOISE)
    assert decided(both, verdict(REGRESSED, a=30, b=60)) == {7: State.CONFIRMED}


@pytest.mark.parametrize(
    "facts, all_threads, is_noise",
    [
        ({}, "", True),
        ({"threads": {"OMP_NUM_THREADS": "1"}}, "", False),
        ({"threads": {"OMP_NUM_THREADS": "1"}}, NO_CHANGE, True),
        ({"threads": {"OMP_NUM_THREADS": "1"}}, "slower", False),
        ({"cpu": "b"}, NO_CHANGE, False),
        ({"gpus": [{"model": "H100"}]}, NO_CHANGE, False),
    ],
)
def test_the_same_elsewhere_refutes_only_what_it_measured(facts, all_threads, is_noise):
    facts = {"e1": {**E0, **facts}}
    elsewhere = verdict(SAME, 1.0, environment="e1", all_threads=all_threads)
    assert decided([event()], elsewhere, facts=facts) == ({7: State.NOISE} if is_noise else {})
    # A change that is found is one, wherever that is.
    found = verdict(REGRESSED, environment="e1")
    assert decided([event()], found, facts=facts) == {7: State.CONFIRMED}


def test_verdicts_on_a_change_are_those_that_touch_it():
    verdicts = [
        verdict(REGRESSED, a=a, b=b, session=f"{a}")
        for a, b in ((30, 35), (38, 39), (39, 40), (41, 50), (35, 45))
    ]
    evidence = Evidence(
        by_figure(verdicts),
        {1: SeriesKey("c0", "forward", "e0")},
        {sha(n): Commit(sha(n), position=n) for n in range(100)},
        {},
    )
    # A bisection's last step lies within.
    found = evidence.touching(event(good=36, bad=41))
    assert [one.session for one in found] == ["39", "38", "35"]


def test_a_verdict_in_words():
    said = verdict(REGRESSED, 1.052)
    assert said.text == "regressed 1.052 (1.042 to 1.062)"
    exact = msgspec.structs.replace(said, low=1.052, high=1.052)
    assert exact.text == "regressed 1.0520 (exact)"
    none = msgspec.structs.replace(said, ratio=None, low=None, high=None)
    assert none.text == "regressed" and ", 8 blocks: " in none.sentence
    suspect = msgspec.structs.replace(said, verdict=Verdict.SUSPECT)
    assert suspect.tone == "worse"
    assert msgspec.structs.replace(suspect, ratio=0.9).tone == "better"
