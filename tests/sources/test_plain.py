"""The plain form of a rule's inputs."""

import pytest

from opperf.errors import UsageError
from opperf.model import Case, Kind, Operator, Parameter, TensorSpec
from opperf.rules.engine import Inputs
from opperf.sources.overrides import Accepted, Overrides, accepted, check_names, obvious_input
from opperf.sources.plain import WHY_OPTIONED, WHY_PLAIN, plain_forms, why_plain

STRIDED = TensorSpec((4, 8), strides=(16, 2))
PLAIN = TensorSpec((4, 8))


def operator(*tensors, **options):
    """An operator with these required tensors, and options with these defaults."""
    return Operator(
        framework="fake",
        namespace="",
        name="op",
        parameters=(
            *(Parameter(name, Kind.TENSOR, True) for name in tensors),
            *(Parameter(n, Kind.FLOAT, False, str(d)) for n, d in options.items()),
        ),
    )


def forms(operator, *arguments, kept=()):
    inputs = [Inputs(one, "rule", why=str(i)) for i, one in enumerate(arguments)]
    return [one.arguments for one in plain_forms(operator, inputs, kept)]


def test_tensors_are_contiguous_and_options_at_their_defaults():
    made = forms(operator("x", alpha=1.0), {"x": STRIDED, "alpha": 0.01})
    assert made == [{"x": PLAIN}, {"x": PLAIN, "alpha": 0.01}]


def test_the_reason_says_whether_options_are_at_their_defaults():
    inputs = [Inputs({"x": STRIDED, "alpha": 0.01}, "rule", why="scaled")]
    whys = [
        why_plain(Case(target=own.target, arguments=one.arguments, origin=f"{one.origin}+shape"))
        for own in [operator("x", alpha=1.0)]
        for one in plain_forms(own, inputs, ())
    ]
    assert whys == [WHY_PLAIN, WHY_OPTIONED]


def test_an_option_that_the_user_sets_stays():
    made = forms(operator("x", alpha=1.0), {"x": STRIDED, "alpha": 3.0}, kept=("x", "alpha"))
    assert made == [{"x": PLAIN, "alpha": 3.0}]


def test_inputs_that_are_nearly_plain_come_first():
    channels_last = TensorSpec((1, 2, 3, 3), memory_format="channels_last")
    made = forms(operator("x"), {"x": channels_last}, {"x": PLAIN})
    assert made == [{"x": PLAIN}, {"x": TensorSpec((1, 2, 3, 3))}]


def test_tensors_of_a_list_and_views_of_one_storage_are_apart():
    views = (TensorSpec((4,), storage="s", offset=4), TensorSpec((4,), storage="s"))
    assert forms(operator("x"), {"x": views}) == [{"x": (TensorSpec((4,)), TensorSpec((4,)))}]


def test_sparse_inputs_and_those_without_tensors_have_none():
    assert forms(operator("x"), {"x": TensorSpec((4, 8), layout="csr")}, {"low": 0.0}) == []


@pytest.mark.parametrize(
    ("tensors", "expected"),
    [
        (("data",), "data"),
        (("input", "weight", "bias"), "input"),
        (("data", "gamma", "beta", "moving_mean", "moving_var"), "data"),
        (("weight",), "weight"),
        (("lhs", "rhs"), None),
        ((), None),
    ],
)
def test_the_obvious_input(tensors, expected):
    own = operator(*tensors, eps=1e-5)
    assert obvious_input(own) == expected
    aliases = Overrides({"": (4, 8)}, {}).aliases(own)
    assert aliases == ({} if expected is None else {"": expected})


def test_a_shape_that_may_be_of_several_inputs_is_refused():
    own = {"op": accepted(operator("lhs", "rhs"), [])}
    with pytest.raises(UsageError) as raised:
        check_names(Overrides({"": (4, 8)}, {}), own)
    assert str(raised.value) == (
        "--shape 4x8: which input has this shape? op has lhs, rhs; write --shape lhs=4x8"
    )
    others = {"one": accepted(operator("data"), []), "any": Accepted((), ())}
    check_names(Overrides({"": (4, 8)}, {}), own | others)
