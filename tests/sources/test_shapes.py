"""Shapes of tensors that follow from those that a user gives."""

import pytest

from opperf.model import TensorSpec
from opperf.rules.engine import Inputs
from opperf.rules.sizes import PRESETS
from opperf.sources.shapes import follow, inputs_in_shapes


@pytest.mark.parametrize(
    ("shape", "changes", "expected"),
    [
        ((8, 8), [((8, 8), (5, 7))], (5, 7)),
        ((64, 3), [((8, 3), (2, 5))], (64, 5)),
        # Both axes were 8: which of them the other tensor shares is unknown.
        ((8,), [((8, 8), (5, 7))], (8,)),
        ((8,), [((8, 8), (5, 5))], (5,)),
        ((1, 4), [((1, 4), (9, 3))], (9, 3)),
        ((1, 9), [((1, 4), (9, 3))], (1, 9)),
        ((4,), [((4, 6), (2, 3, 6))], (4,)),
    ],
)
def test_extents_follow_the_ones_they_equal(shape, changes, expected):
    assert follow(shape, changes) == expected


def product(rows, columns):
    left, right = TensorSpec((rows, columns)), TensorSpec((columns, rows))
    return Inputs({"a": left, "b": right}, "made")


def test_matrices_are_made_for_the_users_extents():
    """The rule's own are square, and their extents cannot be distinguished."""

    def make(preset):
        return [product(*preset.matrix), product(2, 2)]

    for shapes in ({"a": (5, 7)}, {"b": (7, 5)}):
        (one,) = inputs_in_shapes([product(8, 8)], shapes, PRESETS["small"], make)
        assert one.arguments == product(5, 7).arguments
        assert one.origin == "made+shape"


def test_inputs_with_as_many_axes_come_before_others():
    flat, cube = (Inputs({"a": TensorSpec((4,) * n)}, "made") for n in (1, 3))
    for shapes, expected in (({"a": (2, 3, 4)}, [cube]), ({"a": ()}, [flat, cube])):
        assert inputs_in_shapes([flat, cube], shapes, PRESETS["small"], lambda p: []) == expected
