"""The workers of a session's arms: how many cores they have, and which."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from opperf.comparison.ab.arms import ArmSpec, Threads
from opperf.machine.pinning import Cpus, Pinning
from opperf.requests.ab.beginning import _core_count, say_cores, starter
from opperf.requests.ab.keeping import resume_advice
from opperf.requests.ab.request import AbRequest


@pytest.fixture
def pinning(monkeypatch):
    """A pinning of eight cores, with the cores that this process keeps off."""
    made = Pinning("none")
    made.usable, made.kept_off = frozenset(range(8)), []
    monkeypatch.setattr(made, "choose", lambda count: Cpus(frozenset(range(count)), made.usable))
    monkeypatch.setattr(made, "keep_off", lambda cpus: made.kept_off.append(cpus.pinned))
    monkeypatch.setattr(made, "describe", lambda counts: f"workers on {max(counts)}")
    return made


def options_with(pinning, said=(), **environment):
    say = getattr(said, "append", None)
    return SimpleNamespace(pinning=pinning, environment=environment, say=say)


ONE = ArmSpec(settings={"threads": 1})
THREE = ArmSpec(variables={"OMP_NUM_THREADS": "3"})
REST = ArmSpec(variables={"X": "1"})


@pytest.mark.parametrize(
    "a, b, environment, threads, count",
    [
        (ONE, ONE, {}, None, 1),
        (ONE, THREE, {}, None, 3),
        (THREE, ONE, {}, 1, 3),
        (ONE, REST, {}, None, 8),
        (ONE, REST, {}, 1, 1),
        (REST, REST, {}, 2, 2),
        (ONE, REST, {"OMP_NUM_THREADS": "2"}, None, 2),
        (THREE, ArmSpec(variables={"OMP_NUM_THREADS": "99"}), {}, 1, 8),
    ],
)
def test_both_arms_have_the_cores_of_the_one_with_more_threads(
    pinning, a, b, environment, threads, count
):
    options = options_with(pinning, **environment)
    arms = {"A": a, "B": b}
    assert _core_count(arms, options, threads) == count
    start = starter(arms, "fake", options, threads)
    listed = ",".join(map(str, range(count)))
    for name in arms:
        with start(name) as worker:
            assert worker._program.variables["OPPERF_PINNED_CPUS"] == listed
            assert worker._program.variables["OPPERF_USABLE_CPUS"] == "0,1,2,3,4,5,6,7"
    assert pinning.kept_off == [frozenset(range(count))] * 2


def test_the_cores_are_said_once_and_nothing_without_pinning(pinning):
    said = []
    say_cores({"A": ONE, "B": THREE}, options_with(pinning, said), Threads(1))
    assert said == ["workers on 3"]
    say_cores({"A": ONE, "B": THREE}, options_with(Pinning("none"), said), Threads(1))
    assert said == ["workers on 3"]


def test_the_cores_of_the_coarse_look_are_said_too(pinning, monkeypatch):
    said = []
    say_cores({"A": REST, "B": REST}, options_with(pinning, said), Threads(1, coarse=True))
    assert said == ["workers on 1; in the coarse look workers on 8"]
    # Workers are not pinned, for one reason.
    monkeypatch.setattr(pinning, "describe", lambda counts: "not pinned")
    say_cores({"A": REST, "B": REST}, options_with(pinning, said), Threads(1, coarse=True))
    assert said[1:] == ["not pinned"]


def test_the_command_that_resumes_makes_the_same_choice_of_cores():
    command = "s.jsonl. Resume with: opperf ab --resume --report s.jsonl"
    assert resume_advice(AbRequest(cpus="none"), Path("s.jsonl")) == f"{command} --cpus none"
    assert resume_advice(AbRequest(), Path("s.jsonl")) == command
    nothing = AbRequest(fail_on=(), given=frozenset({"fail_on"}))
    assert resume_advice(nothing, Path("s.jsonl")) == f"{command} --fail-on none"
