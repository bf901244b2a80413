"""Names and values of arguments as users write them."""

import math

import pytest

from opperf.errors import UsageError
from opperf.model import Kind, Number, Operator, Parameter, TensorSpec
from opperf.requests.parsers import parse_values
from opperf.rules.engine import Inputs
from opperf.sources.overrides import Overrides, accepted, check_names, with_values

POOL = Operator(
    "torch",
    "aten",
    "pool",
    parameters=(
        Parameter("self", Kind.TENSOR, True, aliases=("input", "x")),
        Parameter("window", Kind.SHAPE, True, length=2),
        Parameter("order", Kind.SHAPE, False),
        Parameter("dim", Kind.INT, False, "0", aliases=("axis",)),
    ),
)
INPUTS = [Inputs({"self": TensorSpec((4, 4)), "window": (3, 3)}, "rule")]


def test_one_number_is_that_of_each_side():
    (made,) = with_values(POOL, INPUTS, {"window": 5, "order": 1, "dim": 1}, "float32")
    assert made.arguments == INPUTS[0].arguments | {"window": (5, 5), "order": 1, "dim": 1}
    assert POOL.expanded("window", (1, 2)) == (1, 2)
    assert POOL.expanded("window", True) is True


def test_other_names_of_arguments_are_the_operators_own():
    user = Overrides({"input": (8, 8)}, {"axis": 1, "window": 2})
    names = user.aliases(POOL)
    assert names == {"input": "self", "axis": "dim"}
    assert user.renamed(names) == Overrides({"self": (8, 8)}, {"dim": 1, "window": 2})
    check_names(user, {"pool": accepted(POOL, INPUTS)})
    # An operator's own argument of that name is meant.
    own = Operator("torch", "aten", "f", parameters=(Parameter("input", Kind.TENSOR, True),))
    assert not user.aliases(own)


def test_an_argument_under_two_names_is_refused():
    with pytest.raises(UsageError, match="dim; set it once"):
        Overrides({}, {"axis": 1, "dim": 1}).aliases(POOL)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-inf", Number("-inf")),
        ("inf", Number("inf")),
        ("(1, -inf)", (1, Number("-inf"))),
        ("[nan]", (Number("nan"),)),
        ("infinite", "infinite"),
        ("'inf'", "inf"),
    ],
)
def test_numbers_that_are_not_finite_are_values(text, expected):
    made = parse_values((f"x={text}",))
    assert made == {"x": expected}
    if isinstance(expected, Number):
        assert not math.isfinite(made["x"].value)


def test_an_argument_of_a_users_function_may_be_a_tensor_whatever_its_name():
    names = accepted(POOL, INPUTS)
    assert names.of_shapes == ("self",)
    assert names.of_a_users_function().of_shapes == ("self", "window", "order", "dim")
