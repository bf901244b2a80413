"""Steps of a program: which are recorded, and what they take."""

import pytest

from opperf.errors import UsageError
from opperf.recording.steps import MARKED, StepRange, Steps, read_steps


class Clock:
    now = 0

    def __call__(self):
        return self.now


class Loop:
    """A program whose steps take 10, 11, 12 ... ns, and are ended by an optimizer."""

    def __init__(self, wanted):
        self.clock, self.switched = Clock(), []
        self.steps = Steps(wanted, self.switched.append, self.clock)
        self.steps.begin()

    def run(self, *owners):
        for owner in owners:
            self.clock.now += 10 + self.steps.number
            self.steps.end(owner)


def test_a_step_has_what_the_program_has_begun_in_it():
    clock = Clock()

    def wait():
        clock.now += 1000

    steps = Steps(StepRange(), lambda recording: None, clock, wait)
    steps.begin()
    for _ in range(3):
        clock.now += 10
        steps.end(SGD)
    assert steps.times[True] == [1010, 1010]


SGD, OTHER = object(), object()


def test_a_range_of_steps_is_read():
    assert read_steps("2:4") == StepRange(2, 4)
    assert read_steps(":4") == StepRange(0, 4) and read_steps("4:") == StepRange(4, None)
    assert [number for number in range(6) if number in StepRange(2, 4)] == [2, 3]
    for wrong in ("4", "4:2", "4:4", "a:b", "-1:2"):
        with pytest.raises(UsageError, match="range of steps|no step"):
            read_steps(wrong)


def test_recording_begins_and_ends_with_the_steps():
    loop = Loop(StepRange(2, 4))
    loop.run(SGD, SGD)
    assert loop.switched == [True]
    loop.run(SGD, SGD)
    assert loop.switched == [True, False]
    assert loop.steps.recorded == 2 and not loop.steps.missed()


def test_steps_are_timed_apart_but_the_first_which_has_the_start_in_it():
    loop = Loop(StepRange(2, 4))
    loop.run(*[SGD] * 6)
    assert loop.steps.times == {True: [12, 13], False: [11, 14, 15]}


def test_the_first_optimizer_ends_steps_and_others_do_not():
    loop = Loop(StepRange())
    loop.run(SGD, OTHER, SGD, OTHER)
    assert loop.steps.number == 2


def test_a_program_that_marks_its_steps_ends_them_there_alone():
    loop = Loop(StepRange())
    # Two steps of an optimizer to one of the program.
    loop.run(SGD, MARKED, SGD, SGD, MARKED, SGD, SGD, MARKED)
    assert loop.steps.number == 3


def test_steps_of_optimizers_before_the_first_mark_are_parts_of_one_step():
    loop = Loop(StepRange(2, 3))
    loop.run(SGD, SGD, MARKED)
    assert (loop.steps.number, loop.steps.recorded, loop.steps.times[False]) == (1, 0, [])
    loop.run(SGD, SGD, MARKED, SGD, SGD, MARKED)
    assert (loop.steps.number, loop.steps.recorded) == (3, 1)
    # What three calls of the loop take.
    assert loop.steps.times == {True: [36], False: [33]}


def test_steps_that_were_not_made_are_said():
    loop = Loop(StepRange(2, 9))
    assert "call opperf.step()" in loop.steps.missed()
    loop.run(SGD, SGD, SGD)
    assert "made 3 steps" in loop.steps.missed()
    loop = Loop(StepRange(2, None))
    loop.run(SGD, SGD, SGD)
    assert not loop.steps.missed()
    assert not Loop(StepRange()).steps.missed()
