"""The bytes that a call moves, from where its tensors are."""

import pytest

from opperf.frameworks.base import Extent, count_moved_bytes
from opperf.instruments.visit import writes_in_place
from opperf.model import Case, Fill, OperatorTarget, TensorSpec

A, B, OUT = Extent(100, 0, 100), Extent(40, 100, 140), Extent(8, 200, 208)
NUMBER = Extent(8)


@pytest.mark.parametrize(
    ("inputs", "outputs", "moved"),
    [
        ([A, B], [OUT], 148),
        ([A, A, B], [OUT], 148),
        ([A], [OUT, OUT], 108),
        # Numbers are in no memory of their own, and each is another.
        ([A], [NUMBER, NUMBER], 116),
        ([A, B], [], 140),
        # All of it, a part of it, and one byte of it.
        ([A], [A], 0),
        ([A, B], [Extent(10, 20, 30)], 0),
        ([A], [Extent(2, 99, 101)], 0),
        ([A], [Extent(2, 100, 102)], 102),
        # What is no view was computed from the inputs.
        ([A], [Extent(10, 20, 30), OUT], 108),
    ],
)
def test_each_piece_of_memory_counts_once_and_a_view_not_at_all(inputs, outputs, moved):
    assert count_moved_bytes(inputs, outputs, in_place=False) == moved


def test_an_output_that_is_written_over_an_input_counts_as_the_input():
    assert count_moved_bytes([A, B, A], [A], in_place=True) == 140
    assert count_moved_bytes([A, B, A], [A, OUT], in_place=True) == 148


@pytest.mark.parametrize(
    ("arguments", "in_place"),
    [
        ({"data": TensorSpec((2,))}, False),
        ({"data": TensorSpec((2,)), "out": TensorSpec((2,))}, True),
        ({"data": TensorSpec((2,)), "state": TensorSpec((2,), fill=Fill("same", data="d"))}, True),
        ({"data": (TensorSpec((2,)), TensorSpec((2,), fill=Fill("same", data="data.0")))}, True),
    ],
)
def test_a_case_writes_in_place_if_it_is_given_where_to(arguments, in_place):
    assert writes_in_place(Case(OperatorTarget("fake", "relu"), arguments)) is in_place
