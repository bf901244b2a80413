"""The work of a call that reaches no result."""

import pytest

from opperf.frameworks.dead_code import MOST, Removed, Step, notes, notes_of_left, removed, work_of
from opperf.model import NoteCode

CHAIN = [Step(3, ["x"], ["a"]), Step(3, ["a"], ["b"]), Step(1, ["x"], ["c"])]


@pytest.mark.parametrize(
    "steps, results, share",
    [
        (CHAIN, {"b", "c"}, 0),
        (CHAIN, {"c"}, 6 / 7),
        (CHAIN, {"b"}, 1 / 7),
        (CHAIN, set(), 1),
        # What is written in place goes where it was.
        ([Step(2, ["x", "a"], ["a"]), Step(1, ["x"], ["b"])], {"a"}, 1 / 3),
        # It may print, or be read by Python.
        ([Step(2, ["x"], ["a"]), Step(1, ["a"], [], is_kept=True)], set(), 0),
        ([], {"x"}, 0),
        ([Step(0, ["x"], ["a"])], set(), 0),
    ],
)
def test_the_share_of_the_work_that_reaches_no_result(steps, results, share):
    assert removed(steps, results) == pytest.approx((share, share))


def test_elements_that_nothing_reads_and_repeated_steps_are_removed():
    first = Step(8, ["x"], ["a"], is_elementwise=True)
    steps = [first, Step(1, ["a"], ["b"], shares=[0.25], is_elementwise=True)]
    assert removed(steps, {"b"}) == pytest.approx((0, 6 / 9))
    assert removed(steps, {"a", "b"}) == removed([first, steps[1]._replace(shares=())], {"b"})
    # All of what is no elementwise step, and of what it reads.
    assert removed([first._replace(is_elementwise=False), steps[1]], {"b"}) == (0, 0)
    again = Step(8, ["x"], ["c"], repeats=["a"])
    assert removed([*steps, again], {"b", "c"}) == pytest.approx((0, 8 / 17))


def test_work_is_the_time_of_the_bytes_or_of_the_operations():
    assert work_of(100, 10) == 100
    assert work_of(100, 1e6) == 1e5


def test_a_note_is_made_where_most_is_gone():
    assert notes(("forward",), Removed(MOST, MOST)) == notes_of_left(("forward",), 1 - MOST) == []
    first, second = notes(("forward", "total"), Removed(0.97, 0.97))
    assert (first.metric, second.metric) == ("forward", "total")
    assert first.code == NoteCode.DEAD_CODE and first.message.startswith("97% of the function's")
    (left,) = notes_of_left(("backward",), 0.1)
    assert "does 10.00% of the function's work" in left.message
