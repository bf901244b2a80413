"""Inputs of PyTorch's operators of a tensor and a number."""

import pytest

from opperf.model import Kind, Operator, Parameter, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.registering import NoInputs
from opperf.rules.shapes import MOSTLY_DISPATCH
from opperf.rules.sizes import PRESETS
from opperf.rules.torch.elementwise import with_number

SMALL = PRESETS["small"]


def operator(name, overload, **kinds):
    parameters = tuple(Parameter(one, kind, required=True) for one, kind in kinds.items())
    return Operator("torch", "aten", name, overload=overload, parameters=parameters)


@pytest.mark.parametrize(
    ("name", "overload", "number", "value"),
    [
        ("sub", "Scalar", "other", 2),
        ("gt", "Scalar", "other", 0.5),
        ("pow", "Tensor_Scalar", "exponent", 3),
        ("pow", "Scalar", "self", 2),
    ],
)
def test_the_argument_that_is_a_number_gets_one(name, overload, number, value):
    other = "exponent" if name == "pow" else "other"
    kinds = dict.fromkeys(("self", other), Kind.TENSOR) | {number: Kind.FLOAT}
    made = with_number(operator(name, overload, **kinds), SMALL)
    # Two to the power of each is bound by arithmetic, in cache or not.
    assert len(made) == (2 if (name, number) == ("pow", "self") else 3)
    for arguments in made:
        assert arguments[number] == value
        (rest,) = kinds.keys() - {number}
        assert isinstance(arguments[rest], TensorSpec)


def test_each_rounding_mode_has_lines_of_its_own_and_one_shows_the_dispatch():
    kinds = {"self": Kind.TENSOR, "other": Kind.FLOAT, "rounding_mode": Kind.ENUM}
    one = operator("div", "Scalar_mode", **kinds)
    made = with_number(one, SMALL)
    assert {arguments["rounding_mode"] for arguments in made} == {"floor", "trunc"}
    whys = [arguments[WHY] for arguments in made]
    assert len(set(whys)) == len(whys) == 4
    assert sum(MOSTLY_DISPATCH in why for why in whys) == 1


def test_an_unknown_operator_is_searched_for():
    made = with_number(operator("new", "default", self=Kind.TENSOR), SMALL)
    assert isinstance(made, NoInputs) and made.searchable
