import msgspec
import numpy as np
import pytest

from opperf.model import Fill, TensorSpec
from opperf.rules.ranges import in_range, limit_at, shapes_by_place

INDICES = TensorSpec((4,), "int32", Fill("integers", 0.0, 64.0))
COUNTED = TensorSpec((4,), "int32", Fill("permutation"))


def test_shapes_are_found_by_argument_and_in_lists():
    inputs = {"a": (2, 3), "b": np.ones((4, 5)), "c": [(6,), TensorSpec((7, 8))], "d": 9, "e": "f"}
    assert shapes_by_place(inputs) == {"a": (2, 3), "b": (4, 5), "c.0": (6,), "c.1": (7, 8)}


@pytest.mark.parametrize(
    ("shapes", "limit"),
    [
        ({"indices": (2, 100), "data": (5, 7)}, 5),
        ({"indices": (2, 100), "data": (100,), "shape": (7, 6)}, 6),
        # The ends of a range tell nothing of what is indexed.
        ({"indices": (3,), "weight": (50, 8), "min_weight": (1,)}, 8),
        ({"indices": (3,), "data": (1,)}, 1),
        ({"indices": (3,), "scalar": ()}, None),
        ({"indices": (3,)}, None),
    ],
)
def test_the_limit_is_the_least_extent_beside(shapes, limit):
    assert limit_at("indices", shapes) == limit


def test_indices_are_below_the_limit_and_below_their_own():
    assert in_range(INDICES, (9, 2), 5) == TensorSpec((9, 2), "int32", Fill("integers", 0.0, 5.0))
    assert in_range(INDICES, (9,), 100).fill == INDICES.fill
    assert in_range(INDICES, (9,), None).fill == INDICES.fill


def test_a_range_has_at_least_one_number():
    from_three = TensorSpec((4,), "int32", Fill("integers", 3.0, 64.0))
    assert in_range(from_three, (4,), 2).fill == Fill("integers", 3.0, 4.0)


def test_a_permutation_longer_than_what_it_indexes_is_drawn_instead():
    assert in_range(COUNTED, (2, 5), 5).fill == COUNTED.fill
    assert in_range(COUNTED, (2, 6), 5).fill == Fill("integers", 0.0, 5.0)


def test_indices_of_a_known_axis_are_of_all_of_it():
    for limit in (5, 100):
        made = in_range(INDICES, (9,), limit, is_exact=True)
        assert made.fill == Fill("integers", 0.0, float(limit))
    assert in_range(COUNTED, (5,), 5, is_exact=True).fill == COUNTED.fill
    assert in_range(COUNTED, (6,), 9, is_exact=True).fill == Fill("permutation", 0.0, 9.0)
    thrice, cyclic = Fill("sequence", 3.0, 1.0), Fill("sequence", 0.0, 4.0)
    for fill, extent, limit in ((thrice, 12, 4), (cyclic, 12, 4)):
        counted = msgspec.structs.replace(COUNTED, fill=fill)
        assert in_range(counted, (extent,), limit).fill == fill
        assert in_range(counted, (extent,), limit - 1).fill.distribution == "integers"
    assert in_range(COUNTED, (1 << 12, 6), 1 << 13, is_exact=True).fill.distribution == "integers"


def test_whole_literal_data_in_another_shape_are_in_order_or_drawn_below_the_limit():
    offsets = TensorSpec((3,), "int64", Fill("literal", data=[0, 2, 4]))
    assert in_range(offsets, (5,), 9).fill == Fill("sequence")
    assert in_range(offsets, (5,), 4).fill == Fill("integers", 0.0, 4.0)
    places = TensorSpec((3,), "int64", Fill("literal", data=[4, 0, 2]))
    assert in_range(places, (5,), None).fill == Fill("integers", 0.0, 5.0)


@pytest.mark.parametrize(
    "spec",
    [
        TensorSpec((4,), "uint8", Fill("integers", 0.0, 256.0)),
        TensorSpec((4, 4), "int64", Fill("sequence"), layout="csr"),
        TensorSpec((4,), "float64", Fill("sequence")),
    ],
    ids=["picture", "numbers of edges", "knots"],
)
def test_what_is_no_index_keeps_its_numbers(spec):
    assert in_range(spec, spec.shape, 2) == spec


def test_literal_data_in_another_shape_are_random_numbers():
    edges = TensorSpec((3,), "float32", Fill("literal", data=[0.0, 1.0, 2.0]))
    assert in_range(edges, (3,), None) == edges
    assert in_range(edges, (4,), None).fill == Fill()


def test_another_shape_of_a_view_is_contiguous():
    view = TensorSpec((4, 8), strides=(1, 4), offset=3, storage="a")
    assert in_range(view, (4, 8), None) == view
    assert in_range(view, (5,), None) == TensorSpec((5,))
