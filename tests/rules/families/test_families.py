"""Families by role: what each gives is what its operation takes."""

import pytest

from opperf.model import TensorSpec
from opperf.operations import OPERATIONS
from opperf.rules.configurations import WHY, inputs_of
from opperf.rules.engine import name_of
from opperf.rules.families import FAMILIES
from opperf.rules.shapes import DISPATCH
from opperf.rules.sizes import PRESETS


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_tensor(value):
    return isinstance(value, TensorSpec)


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def are_whole(value):
    return isinstance(value, tuple) and all(
        is_integer(element) or are_whole(element) for element in value
    )


TAKES = {
    # Of some operators one tensor, of others a number.
    "tensor": lambda value: is_tensor(value) or is_number(value),
    "tensors": lambda value: isinstance(value, tuple) and all(map(is_tensor, value)),
    "int": is_integer,
    "float": lambda value: is_number(value) or is_tensor(value),
    "bool": lambda value: isinstance(value, bool),
    "shape": are_whole,
    "axis": is_integer,
    "axes": lambda value: is_integer(value) or are_whole(value),
    "enum": lambda value: isinstance(value, str),
    "dtype": lambda value: isinstance(value, (str, tuple)),
}
"""What an input of each kind may be."""


@pytest.mark.parametrize("size", PRESETS)
def test_a_family_gives_what_its_operation_takes(size):
    for name, make in FAMILIES.by_operation.items():
        operation = OPERATIONS[name]
        made = list(make(operation, PRESETS[size]))
        assert made, name
        for roles in made:
            for role, value in inputs_of(roles).items():
                assert TAKES[operation.inputs[role]](value), (name, role, value)


def test_no_configuration_is_there_twice():
    for name, make in FAMILIES.by_operation.items():
        made = list(map(inputs_of, make(OPERATIONS[name], PRESETS["default"])))
        assert len({repr(sorted(roles.items())) for roles in made}) == len(made), name


def test_families_are_named_for_what_they_are():
    assert name_of(FAMILIES.by_operation["add"]) == "elementwise.binary"


def roles_of(name):
    return list(FAMILIES.by_operation[name](OPERATIONS[name], PRESETS["small"]))


def test_tensors_are_inside_an_operations_domain():
    assert {one["x"].fill.distribution for one in roles_of("log")} == {"uniform"}
    assert {one["y"].fill.low for one in roles_of("divide")} == {0.5}
    assert {one["x"].fill.distribution for one in roles_of("exp")} == {"normal"}


def test_operations_of_whole_numbers_get_them():
    assert {one["x"].dtype for one in roles_of("bitwise_not")} == {"int32", "bool"}
    assert {one["y"].dtype for one in roles_of("gcd")} == {"int32"}
    assert {one["x"].dtype for one in roles_of("add")} == {""}


@pytest.mark.parametrize("name", ["all", "bitwise_or", "count_nonzero", "logical_and"])
def test_functions_of_truth_get_masks(name):
    assert "bool" in {one["x"].dtype for one in roles_of(name)}


def test_rows_columns_channels_and_scalars_broadcast():
    assert [(one["x"].shape, one["y"].shape) for one in roles_of("add")] == [
        ((64, 64), (64, 64)),
        ((64, 64), (1, 64)),
        ((64, 1), (1, 64)),
        ((2, 64, 16, 16), (1, 64, 1, 1)),
        ((64, 64), (1, 1)),
    ]


def test_each_axis_and_all_of_them():
    assert [(one["x"].shape, one.get("axis")) for one in roles_of("sum")] == [
        ((64, 64), 0),
        ((64, 64), 1),
        ((64, 64), None),
        ((625, 6), 0),
        ((2, 8, 12, 64), 3),
        ((2, 8, 768), 1),
        ((2, 64, 16, 16), (0, 2, 3)),
    ]


def test_several_axes_only_where_an_operation_takes_them():
    assert all(not isinstance(one.get("axis"), tuple) for one in roles_of("cumsum"))


@pytest.mark.parametrize("name", ["exp", "add", "sum", "concatenate", "clip"])
def test_at_most_one_configuration_measures_the_call(name):
    assert [one[WHY] for one in roles_of(name)].count(DISPATCH) == (name in ("exp", "clip"))
