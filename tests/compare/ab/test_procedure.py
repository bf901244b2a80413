"""What a session measures next, from what it has measured."""

import math

import pytest

from opperf.compare.ab.procedure import Stage, next_stage
from opperf.compare.statistics.data import Replicate, Thresholds

RULES = Thresholds(control_blocks=2, screen_blocks=3, confirm_blocks=3, block_cap=3)
SEED = 5


@pytest.fixture
def go_on():
    """Measures a session to its end, and says which stages it had. `effect` gives what a figure
    is by its place, and `forget` what the session is interrupted after."""

    def gone(effect, thresholds=RULES, names=("x", "y", "z"), stop=None):
        done, stages = [], []
        while (stage := next_stage(done, thresholds)) is not None:
            if not stages or stages[-1] != stage:
                stages.append(stage)
            for place in stage.places(SEED, done):
                values = {
                    name: effect(name, place)
                    for name in names
                    if not stage.figures or name in stage.figures
                }
                done.append(
                    Replicate(place.phase, place.block, place.position, place.label, values)
                )
                if len(done) == stop:
                    return stages, done
        return stages, done

    return gone


def jitter(name, place):
    """What a block differs from others by, which is nothing on average over three of them."""
    return 0.001 * (place.block % 3 - 1) if place.label == "B" else 0.0


def test_nothing_found(go_on):
    stages, done = go_on(jitter)
    assert [(stage.phase, stage.n_blocks) for stage in stages] == [("control", 2), ("screen", 3)]
    assert len(done) == 20


def test_candidates_are_confirmed_and_nothing_else(go_on):
    def effect(name, place):
        return jitter(name, place) + (0.1 if (name, place.arm) == ("x", "B") else 0.0)

    stages, done = go_on(effect)
    assert stages[2:] == [Stage("confirm", 0, 3, ("x",))]
    assert all(set(one.values) == {"x"} for one in done if one.phase == "confirm")


def test_the_control_measures_a_twice(go_on):
    arms = {"control": set(), "screen": set(), "confirm": set()}

    def effect(name, place):
        arms[place.phase].add((place.label, place.arm))
        return jitter(name, place)

    go_on(effect)
    assert arms["control"] == {("A", "A"), ("B", "A")}
    assert arms["screen"] == {("A", "A"), ("B", "B")}


def test_an_invalid_session_ends_with_its_control(go_on):
    def effect(name, place):
        return jitter(name, place) + (0.5 if place.label == "B" else 0.0)

    stages, done = go_on(effect)
    assert [stage.phase for stage in stages] == ["control"] and len(done) == 8


def wavering(name, place):
    """y is at the threshold, give or take."""
    near = math.log(1.02) + 0.02 * math.sin(place.block) if place.arm == "B" else 0.0
    return jitter(name, place) + (near if name == "y" else 0.0)


def test_what_is_ambiguous_is_measured_on_up_to_the_cap(go_on):
    thresholds = Thresholds(control_blocks=2, screen_blocks=3, confirm_blocks=3, block_cap=10)
    stages, _ = go_on(wavering, thresholds)
    confirm = [stage for stage in stages if stage.phase == "confirm"]
    assert [(stage.first_block, stage.n_blocks) for stage in confirm] == [(0, 3), (3, 3), (6, 4)]
    assert all(stage.figures == ("y",) for stage in confirm)


def test_an_interrupted_session_goes_on_as_it_would_have(go_on):
    thresholds = Thresholds(control_blocks=2, screen_blocks=3, confirm_blocks=3, block_cap=10)
    _, whole = go_on(wavering, thresholds)
    for stop in range(1, len(whole), 3):
        _, half = go_on(wavering, thresholds, stop=stop)
        stage = next_stage(half, thresholds)
        rest = list(stage.places(SEED, half))
        after = whole[stop]
        assert (rest[0].phase, rest[0].block, rest[0].position) == (
            after.phase,
            after.block,
            after.position,
        )
