"""How many calls are counted."""

import math

import pytest

from opperf.instruments.callgrind.counter import EFFORTS, LONGEST_S, choose_effort


@pytest.mark.parametrize(
    ("instructions", "loops", "samples"),
    [(0, 10, 3), (2e6, 10, 3), (2e6 + 1, 2, 3), (1e8, 1, 3), (1e12, 1, 1)],
)
def test_the_longer_a_call_the_fewer_are_counted(instructions, loops, samples):
    found = choose_effort(instructions, 1e-3)
    assert (found.loops, found.samples) == (loops, samples)


def test_no_load_changes_their_number():
    assert choose_effort(1e5, 1e-4) == choose_effort(1e5, 0.5)


def test_one_is_counted_where_all_would_take_too_long():
    # Three samples of ten calls, and one unused.
    assert choose_effort(1e5, LONGEST_S / 39) == EFFORTS[-1]
    assert choose_effort(1e5, LONGEST_S / 40) == EFFORTS[0]


def test_every_size_has_an_effort():
    sizes = [one.most for one in EFFORTS]
    assert sizes == sorted(sizes) and sizes[-1] == math.inf
