"""What calls after the timed ones say of the results, from results that tests write."""

import dataclasses
from pathlib import Path

import msgspec
import numpy as np
import pytest

from opperf.comparison.ab.timed_results import TimedResults
from opperf.model import Check, Difference, Place, ProcessLine, Tolerance
from opperf.worker.protocol import AFTER, OBSERVED, OTHER, TIMED, Observed, Value
from tests.comparison.ab.sessions import case, session_of

ONE, TWO, THREE = ([float(number)] * 3 for number in (1, 2, 3))
PLACES = tuple(
    Place("comparison", block, position, arm, arm)
    for block in (0, 1)
    for position, arm in enumerate("ABBA")
)
LAST, AFTER_CALLS, OTHERS = f"output{TIMED}", f"output{AFTER}", f"output{AFTER}{OTHER}"


def write(folder, values, **fields):
    """Writes results by their place; returns what was observed."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for number, (place, numbers) in enumerate(values.items()):
        array = np.array(numbers, "float32")
        np.save(folder / f"{number}.npy", array)
        found.append(Value(place, array.shape, "float32", "dense", f"{number}.npy"))
    return Observed(tuple(found), **fields)


@pytest.fixture
def checked():
    """Checks of a session whose arms have these results; `first` are those of a first call by arm
    and draw."""

    def check(a, b, first=None, places=PLACES, checks=None, phase="comparison"):
        planned = case("relu")
        session = session_of(planned, tolerance=Tolerance(), checks=checks or {})
        asked = []

        def observe(place, visited, folder, draw):
            asked.append((place.role, draw))
            return write(folder, {"output": first[place.role][draw]})

        made = []
        with TimedResults(session, phase, places) as results:
            for place in places:
                cases = results.begin(place, session.cases_of(place.arm))
                for folder in (Path(kept.folder) for kept in results.kept(place).values()):
                    own = {"A": a, "B": b}[place.role]
                    observed = own if isinstance(own, Observed) else write(folder, own)
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / OBSERVED).write_bytes(msgspec.json.encode(observed))
                assert cases.keys() == session.cases_of(place.arm).keys()
                made.append(results.check(place, observe))
        return made, asked, session

    return check


SAME = {LAST: ONE, AFTER_CALLS: ONE, OTHERS: TWO}


def test_results_are_compared_once_after_the_first_process_of_either_arm(checked):
    made, asked, _ = checked(SAME, SAME)
    assert made == [None, {}, *[None] * 6] and asked == []
    # Of a block that was begun before, the next one has both.
    made, _, _ = checked(SAME, SAME, places=PLACES[3:])
    assert [one is not None for one in made] == [False, False, True, False, False]
    assert checked(SAME, SAME, phase="control")[0] == [None] * 8


def test_the_seed_draws_which_call_is_kept(checked):
    _, _, session = checked(SAME, SAME)
    drawn = set()
    for seed in range(30):
        own = dataclasses.replace(session, plan=msgspec.structs.replace(session.plan, seed=seed))
        one, again = ([], [])
        for calls in (one, again):
            with TimedResults(own, "comparison", PLACES) as results:
                for place in PLACES[:2]:
                    results.begin(place, own.cases_of(place.arm))
                    calls += [kept.calls for kept in results.kept(place).values()]
        assert one == again
        drawn.update(one)
    assert drawn == {1, 2, 3, 4}


def found(made):
    ((check,),) = (one["B"].values() for one in made if one)
    return check


@pytest.mark.parametrize(
    "b, places",
    [
        ({**SAME, OTHERS: ONE}, [OTHERS]),
        ({**SAME, LAST: THREE}, [LAST]),
        # What differs at an earlier call is said once.
        ({LAST: THREE, AFTER_CALLS: THREE, OTHERS: ONE}, [LAST]),
        ({**SAME, AFTER_CALLS: THREE, OTHERS: ONE}, [AFTER_CALLS]),
        ({LAST: ONE, AFTER_CALLS: ONE}, [OTHERS]),
        # A profiler may keep no result.
        ({AFTER_CALLS: ONE, OTHERS: ONE}, [OTHERS]),
        (Observed(refusal="no luck"), [AFTER_CALLS]),
    ],
)
def test_what_b_alone_changes_is_a_difference(checked, b, places):
    first = {arm: [ONE, ONE] for arm in "AB"}
    for one, other in ((SAME, b), (b, SAME)):
        check = found(checked(one, other, first)[0])
        assert check.outcome == "different"
        assert [difference.place for difference in check.differences] == places


def test_a_state_of_both_arms_is_no_difference(checked):
    first = {arm: [ONE, ONE] for arm in "AB"}
    a, b = {LAST: ONE, AFTER_CALLS: TWO, OTHERS: TWO}, {LAST: ONE, AFTER_CALLS: THREE, OTHERS: ONE}
    made, asked, _ = checked(a, b, first)
    assert found(made) == Check("same", "output: depends on the calls before it, in both arms")
    assert asked == [("A", 0), ("A", 1), ("B", 0), ("B", 1)]
    # At the last timed call B alone differs from a first one.
    check = found(checked(a, {**b, LAST: TWO}, first)[0])
    assert [difference.place for difference in check.differences] == [LAST]


def test_random_results_are_no_difference(checked):
    first = {"A": [ONE, ONE], "B": [ONE, THREE]}
    made, _, _ = checked(SAME, {AFTER_CALLS: TWO, OTHERS: ONE}, first)
    assert made[1] == {}


def test_what_differs_at_the_first_call_is_said_once(checked):
    session = session_of(case("relu"))
    (group,) = (one.id for one in session.plan.groups)
    checks = {group: Check("different", "", (Difference("output", "shape"),), 1)}
    assert checked(SAME, {AFTER_CALLS: TWO, OTHERS: ONE}, checks=checks)[0][1] == {}


def test_a_session_has_the_checks_of_its_processes(checked):
    _, _, session = checked(SAME, SAME)
    (group,) = (one.id for one in session.plan.groups)
    late = Check("different", "", (Difference(OTHERS, "stale"),), 1)
    assert not session.is_checked and session.different == frozenset()
    session.add(ProcessLine(PLACES[1], "", 1.0, {"B": {group: late}}), [])
    assert session.is_checked and session.different == {group}
    assert session.checks[group].line == f"{OTHERS}: stale"
    earlier = Check("same", "large tensors in part only")
    assert earlier.with_later(late) == msgspec.structs.replace(late, note=earlier.note)
    assert earlier.with_later(Check("same", "x")).note == f"{earlier.note}; x"
    with TimedResults(session, "comparison", PLACES) as results:
        assert not results.kept(PLACES[0])
