"""Treemaps: areas are as the times, and no box is outside or on another."""

import itertools

import msgspec
import pytest

from opperf.reports.model import RunOnPage
from opperf.reports.pages.treemap import Box, squarified, treemap_of

PLACE = Box(10, 20, 300, 100)


@pytest.mark.parametrize("values", [[1], [5, 3, 2], [100, 1, 1, 1], [2**-i for i in range(20)]])
def test_areas_are_as_the_values_and_fill_the_place(values):
    named = {str(index): value for index, value in enumerate(values)}
    boxes = dict(squarified(named, PLACE))
    for name, box in boxes.items():
        share = named[name] / sum(values)
        assert box.width * box.height == pytest.approx(share * PLACE.width * PLACE.height)
        assert box.x >= PLACE.x - 1e-6 and box.x + box.width <= PLACE.x + PLACE.width + 1e-6
        assert box.y >= PLACE.y - 1e-6 and box.y + box.height <= PLACE.y + PLACE.height + 1e-6
    for one, other in itertools.combinations(boxes.values(), 2):
        assert (
            one.x + one.width <= other.x + 1e-6
            or other.x + other.width <= one.x + 1e-6
            or one.y + one.height <= other.y + 1e-6
            or other.y + other.height <= one.y + 1e-6
        )


def test_equal_values_are_nearly_squares():
    boxes = [box for _, box in squarified({str(i): 1.0 for i in range(12)}, PLACE)]
    assert all(max(box.width / box.height, box.height / box.width) < 2 for box in boxes)


def test_times_are_of_all_calls_by_category(run, make_record):
    first = make_record("relu")
    many = msgspec.structs.replace(first.case, count=3)
    records = (msgspec.structs.replace(first, case=many), make_record("abs", shape=(4,)))
    found = treemap_of([RunOnPage("a", msgspec.structs.replace(run, records=records))])
    (category,) = found.categories
    assert category.name == "unary" and category.share == "100.0%" and found.total.startswith("20")
    assert [area.name for area in category.areas] == ["relu", "abs"]
    assert "75.0%" in category.areas[0].hover


def test_a_run_without_times_has_none(run):
    assert treemap_of([RunOnPage("a", msgspec.structs.replace(run, records=()))]) is None
