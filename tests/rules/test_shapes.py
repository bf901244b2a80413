"""The shapes that rules are written in."""

import pytest

from opperf.rules.families.elementwise import alike, broadcasting
from opperf.rules.shapes import LIST_LENGTH, column, cube, line, shapes, slim, square, vector, wide
from opperf.rules.sizes import PRESETS


@pytest.mark.parametrize("size", PRESETS.values(), ids=lambda size: size.name)
@pytest.mark.parametrize(
    "made, count",
    [(shapes, 2), (wide, 3), (alike, 2), (broadcasting, 5)],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_no_two_are_the_same_at_any_size(made, count, size):
    found = made(size)
    assert len(set(map(str, found))) == len(found) == count


def test_the_default_shapes_are_those_that_upstream_is_known_by():
    # Apache MXNet's opperf has these for `data`, and results are compared by shape.
    default = PRESETS["default"]
    first, last = shapes(default)
    assert (first, column(default), last) == ((1024, 1024), (10000, 1), (10000, 100))


@pytest.mark.parametrize(
    "size, columns", [("small", 2), ("default", 10), ("large", 40), ("int64", 640)]
)
def test_what_works_along_the_last_axis_has_more_than_one_element_there(size, columns):
    square_one, slim_one, tall_one = wide(PRESETS[size])
    assert slim_one == slim(PRESETS[size]) == (column(PRESETS[size])[0], columns)
    assert square_one == square(PRESETS[size]) and tall_one == shapes(PRESETS[size])[1]


@pytest.mark.parametrize("size", PRESETS.values(), ids=lambda size: size.name)
def test_a_vector_and_a_cube_have_as_many_elements_as_a_square(size):
    rows, columns = square(size)
    assert vector(size) == (rows * columns,)
    first, *rest = cube(size)
    # A cube grows along its first axis only.
    assert (first, *rest) == (size.extent(64), 128, 128)
    assert cube(PRESETS["default"])[0] * 128 * 128 == 1024 * 1024


def test_a_line_is_as_long_as_a_column():
    assert line(PRESETS["default"]) == (10000,)
    assert all(line(size) == column(size)[:1] for size in PRESETS.values())
    assert all(column(size)[1] == 1 for size in PRESETS.values())


def test_a_list_is_more_than_a_pair():
    assert LIST_LENGTH > 2
