"""Configurations of a rule made to fit a size, by a framework's shape inference."""

import pytest

from opperf.model import Operator
from opperf.rules.fitting import Inference, fit
from opperf.rules.values import fixed, tensor


def shapes(name, arguments, known):
    """`scale` follows from the data's last axis."""
    return {"scale": (known["data"][-1],)} if name == "scaled" and "scale" in arguments else {}


def output_shapes(name, arguments):
    if name == "unknown":
        return None
    data = arguments["data"].shape
    fits = arguments["scale"].shape == data[-1:] if "scale" in arguments else len(data) == 2
    return [data] if fits else None


INFERENCE = Inference(
    shapes, output_shapes, fixed_rank=frozenset({"flat"}), fixed_shape=frozenset({"rigid"})
)
SCALED = {"data": tensor(4, 6), "scale": tensor(6), "axis": 1}


def fitted(name, configurations, size, given=None, sized=None):
    operator = Operator("toy", "toy", name)
    return fit(operator, configurations, sized or configurations, size, given or {}, INFERENCE)


def shapes_in(arguments):
    return {name: value.shape for name, value in arguments.items() if hasattr(value, "shape")}


def test_other_tensors_follow_from_the_first_as_they_are_inferred():
    found = fitted("scaled", [SCALED], (3, 5, 7))
    assert shapes_in(found) == {"data": (3, 5, 7), "scale": (7,)} and found["axis"] == 1


def test_what_is_not_inferred_changes_in_the_extents_it_has_in_common():
    made = {"data": tensor(4, 6), "mask": fixed(4, 1), "other": tensor(4, 6)}
    assert shapes_in(fitted("plain", [made], (8, 9))) == {
        "data": (8, 9),
        "mask": (8, 1),
        "other": (8, 9),
    }


def test_a_configuration_of_the_size_comes_before_others():
    first, second = {"data": tensor(4, 6), "axis": 0}, {"data": tensor(3, 5), "axis": 1}
    assert fitted("plain", [first, second], (3, 5))["axis"] == 1
    assert fitted("plain", [first, second], (9, 9))["axis"] == 0


def test_leading_axes_are_joined_where_as_many_are_refused():
    assert shapes_in(fitted("plain", [{"data": tensor(4, 6)}], (2, 3, 5))) == {"data": (6, 5)}


@pytest.mark.parametrize(
    ("name", "size", "shape"),
    [("flat", (2, 3, 5), (4, 6)), ("flat", (2, 5), (2, 5)), ("rigid", (2, 5), (4, 6))],
)
def test_axes_and_shapes_that_are_to_stay_stay(name, size, shape):
    assert shapes_in(fitted(name, [{"data": tensor(4, 6)}], size)) == {"data": shape}


def test_a_vector_stays_a_vector_of_as_many_elements():
    assert shapes_in(fitted("unknown", [{"data": tensor(10)}], (2, 3))) == {"data": (6,)}


def test_a_users_arguments_stand_unless_nothing_goes_with_them():
    assert shapes_in(fitted("scaled", [SCALED], (3, 7), {"scale": tensor(7)}))["scale"] == (7,)
    assert shapes_in(fitted("scaled", [SCALED], (3, 7), {"scale": tensor(5)}))["scale"] == (7,)
    assert fitted("scaled", [SCALED], (3, 7), {"axis": 0})["axis"] == 0


def test_lengths_keep_their_proportion_where_the_rules_own_are_refused():
    made = {"data": tensor(4, 6), "begin": (0, 3), "end": (2, 6)}

    def halves(name, arguments):
        data, end = arguments["data"].shape, arguments["end"]
        return [data] if end == (data[0] // 2, data[1]) else None

    found = fit(
        Operator("toy", "toy", "slice"), [made], [made], (8, 12), {}, Inference(shapes, halves)
    )
    assert (found["begin"], found["end"]) == ((0, 6), (4, 12))


def test_the_first_configuration_stands_where_none_takes_the_size():
    made = {"data": tensor(4, 6)}

    def only_its_own(name, arguments):
        return [(4, 6)] if arguments == made else None

    operator = Operator("toy", "toy", "stubborn")
    assert fit(operator, [made], [made], (3, 7), {}, Inference(shapes, only_its_own)) == made
