"""Default inputs by argument name, as MXNet's users import them."""

import pytest

from opperf.model import Kind
from opperf.rules import default_params
from opperf.rules.default_params import DEFAULTS_INPUTS, PARAMS_OF_TYPE_NDARRAY, defaults
from opperf.rules.mxnet.names import TABLE
from opperf.rules.sizes import PRESETS
from opperf.rules.values import fixed, tensor, tensors


def test_tensors_are_told_by_their_shapes():
    assert DEFAULTS_INPUTS["lhs"] == [(1024, 1024), (10000, 100)]
    assert defaults(PRESETS["small"])["lhs"][0] == (64, 64)


def test_every_argument_of_the_table_has_values_and_only_tensors_are_listed_as_such():
    assert set(DEFAULTS_INPUTS) == {name for name, _ in TABLE}
    assert all(DEFAULTS_INPUTS.values())
    assert sorted(PARAMS_OF_TYPE_NDARRAY) == PARAMS_OF_TYPE_NDARRAY
    assert {"data", "lhs", "args"} <= set(PARAMS_OF_TYPE_NDARRAY)
    assert not {"axis", "scalar", "num_args"} & set(PARAMS_OF_TYPE_NDARRAY)


@pytest.fixture
def defaults_of(monkeypatch):
    """The defaults of a table of these values in the place of MXNet's."""

    def found(table):
        made = {
            key: (lambda operator, size, values=values: values) for key, values in table.items()
        }
        monkeypatch.setattr(default_params.names, "TABLE", made)
        return defaults(PRESETS["default"])

    return found


def test_plain_values_stay_and_lists_of_tensors_become_lists_of_shapes(defaults_of):
    found = defaults_of(
        {
            ("axis", Kind.INT): [0, 1],
            ("shape", Kind.SHAPE): [(2, 3)],
            ("args", Kind.TENSORS): [tensors([tensor(4, 5), fixed(6)])],
            ("flag", Kind.BOOL): [None],
        }
    )
    assert found == {"axis": [0, 1], "shape": [(2, 3)], "args": [((4, 5), (6,))], "flag": [None]}


TENSOR = {("a", Kind.TENSOR): [tensor(2)]}


def test_of_a_name_with_several_kinds_the_tensor_counts_wherever_it_stands(defaults_of):
    others = {("a", Kind.INT): [7], ("a", Kind.TENSORS): [(tensor(3),)]}
    assert defaults_of(TENSOR | others) == defaults_of(others | TENSOR) == {"a": [(2,)]}


def test_of_plain_kinds_the_first_counts(defaults_of):
    assert defaults_of({("a", Kind.INT): [7], ("a", Kind.FLOAT): [0.5]}) == {"a": [7]}
