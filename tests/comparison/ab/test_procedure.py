"""What a session measures next, from what it has measured."""

import math

import msgspec
import pytest

from opperf.comparison.ab.forecast import Stage, next_stage
from opperf.statistics.data import Replicate, Thresholds

THRESHOLDS = Thresholds(control_blocks=2, block_cap=10)
SEED = 5


@pytest.fixture
def go_on():
    """Measures a session to its end, and says which stages it had. `effect` gives what a figure
    is by its place, and `forget` what the session is interrupted after."""

    def gone(effect, thresholds=THRESHOLDS, names=("x", "y", "z"), stop=None):
        done, stages = [], []
        while (stage := next_stage([done], thresholds)) is not None:
            if not stages or stages[-1] != stage:
                stages.append(stage)
            for place in stage.places(SEED, "AB", done):
                values = {
                    name: effect(name, place)
                    for name in names
                    if not stage.figures or name in stage.figures
                }
                done.append(Replicate(place.phase, place.block, place.position, place.role, values))
                if len(done) == stop:
                    return stages, done
        return stages, done

    return gone


def jitter(name, place):
    """A small deviation of B in each block, which is nearly nothing on average."""
    return 0.001 * (place.block % 3 - 1) if place.role == "B" else 0.0


def wavering(name, place):
    """y is about as large as the largest change that is the same, give or take."""
    near = math.log(1.04) + 0.03 * (-1) ** place.block if place.arm == "B" else 0.0
    return jitter(name, place) + (near if name == "y" else 0.0)


FIXED = [Stage("control", 0, 2, ()), Stage("comparison", 0, 4, ())]


def test_what_the_first_look_decides_is_measured_no_more(go_on):
    def effect(name, place):
        return jitter(name, place) + (0.1 if (name, place.arm) == ("x", "B") else 0.0)

    stages, done = go_on(effect)
    assert stages == FIXED and len(done) == 24


def test_the_control_measures_a_twice(go_on):
    arms = {"control": set(), "comparison": set()}

    def effect(name, place):
        arms[place.phase].add((place.role, place.arm))
        return jitter(name, place)

    go_on(effect)
    assert arms["control"] == {("A", "A"), ("B", "A")}
    assert arms["comparison"] == {("A", "A"), ("B", "B")}


def test_an_invalid_session_ends_at_its_first_look(go_on):
    def effect(name, place):
        return wavering(name, place) + (0.5 if place.role == "B" else 0.0)

    assert go_on(effect)[0] == FIXED


def test_undecided_figures_are_measured_further_up_to_the_cap(go_on):
    stages, done = go_on(wavering)
    assert stages == [*FIXED, *(Stage("comparison", n, 2, ("y",)) for n in (4, 6, 8))]
    assert all(one.values.keys() == {"y"} for one in done if one.block >= 4)
    assert all(len(one.values) == 3 for one in done if one.block < 4)


COARSE = msgspec.structs.replace(THRESHOLDS, coarse_blocks=3)
COARSE_STAGE = Stage("coarse", 0, 3, ())


def test_the_coarse_look_follows_the_first_look_and_changes_no_other_stage(go_on):
    stages, done = go_on(wavering, COARSE)
    assert stages[:3] == [*FIXED, COARSE_STAGE]
    assert [*FIXED, *stages[3:]] == go_on(wavering)[0]
    coarse = [one for one in done if one.phase == "coarse"]
    assert len(coarse) == 4 * 3
    assert {arm: sum(one.arm == arm for one in coarse) for arm in "AB"} == {"A": 6, "B": 6}


def test_the_coarse_look_is_taken_where_the_first_look_decides_all(go_on):
    assert go_on(jitter, COARSE)[0] == [*FIXED, COARSE_STAGE]


def test_the_coarse_look_measures_both_arms(go_on):
    seen = set()

    def effect(name, place):
        seen.add((place.phase, place.role, place.arm))
        return jitter(name, place)

    go_on(effect, COARSE)
    assert {one[1:] for one in seen if one[0] == "coarse"} == {("A", "A"), ("B", "B")}


def test_an_invalid_session_has_no_coarse_look(go_on):
    def effect(name, place):
        return jitter(name, place) + (0.5 if place.role == "B" else 0.0)

    assert go_on(effect, COARSE)[0] == FIXED


def test_an_interrupted_coarse_look_goes_on(go_on):
    _, whole = go_on(jitter, COARSE)
    _, half = go_on(jitter, COARSE, stop=24 + 5)
    stage = next_stage([half], COARSE)
    assert stage == COARSE_STAGE
    assert [
        (place.phase, place.block, place.position) for place in stage.places(SEED, "AB", half)
    ] == [(one.phase, one.block, one.position) for one in whole[29:]]


def test_figures_that_cannot_be_measured_end_a_session(go_on):
    _, done = go_on(wavering, stop=24)
    stage = Stage("comparison", 4, 2, ("y",))
    assert next_stage([done], THRESHOLDS) == next_stage([done], THRESHOLDS, {"x"}) == stage
    assert next_stage([done], THRESHOLDS, {"y"}) is None


def test_an_interrupted_session_goes_on_as_it_would_have(go_on):
    _, whole = go_on(wavering)
    for stop in range(1, len(whole), 3):
        _, half = go_on(wavering, stop=stop)
        stage = next_stage([half], THRESHOLDS)
        rest = list(stage.places(SEED, "AB", half))
        after = whole[stop]
        assert (rest[0].phase, rest[0].block, rest[0].position) == (
            after.phase,
            after.block,
            after.position,
        )


def test_blocks_of_three_arms_are_measured_until_both_comparisons_are_complete():
    stage = Stage("comparison", 0, 2, ())
    places = list(stage.places(SEED, ("a", "b", "c")))
    assert len(places) == 12
    orders = ["".join(one.arm for one in places[start : start + 6]) for start in (0, 6)]
    assert all(order == order[::-1] and sorted(order) == list("aabbcc") for order in orders)
    assert orders[0][:3] == orders[1][:3][::-1]
    control = list(Stage("control", 0, 1, ()).places(SEED, ("a", "b", "c")))
    assert {(one.arm, one.role) for one in control} == {("a", "a"), ("a", "b")}

    def measured(roles, places):
        return [
            Replicate(one.phase, one.block, one.position, roles[one.role], {"x": jitter("x", one)})
            for one in places
            if one.role in roles
        ]

    thresholds = Thresholds(control_blocks=1, block_cap=4)
    blocks = list(Stage("comparison", 0, 4, ()).places(SEED, ("a", "b", "c")))
    for done, expected in ((23, Stage("comparison", 0, 4, ())), (24, None)):
        comparisons = [
            [*measured({"a": "A", "b": "B"}, control), *measured(roles, blocks[:done])]
            for roles in ({"a": "A", "b": "B"}, {"a": "A", "c": "B"})
        ]
        assert next_stage(comparisons, thresholds) == expected
