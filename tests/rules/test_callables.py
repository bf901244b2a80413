"""Arguments of an operator under the names of a callable that computes the same."""

import pytest

from opperf.model import Kind, Operator, Parameter, TensorSpec
from opperf.rules.callables import own_arguments

X, Y = TensorSpec((2,)), TensorSpec((3,))


def operator(*names, required=(), tensors=("a", "b", "x", "y")):
    parameters = tuple(
        Parameter(n, Kind.TENSOR if n in tensors else Kind.INT, required=n in required)
        for n in names
    )
    return Operator("fake", "", "made", parameters=parameters)


@pytest.mark.parametrize(
    ("declared", "called", "arguments", "expected"),
    [
        (("a", "b"), operator("b", "a"), {"a": X, "b": Y}, {"a": X, "b": Y}),
        (("a", "b"), operator("x", "y"), {"a": X, "b": Y}, {"x": X, "y": Y}),
        # The callable has `b` elsewhere, so that its first cannot be `a`'s.
        (("a", "b"), operator("b"), {"a": X, "b": Y}, None),
        # A number moves only to an argument that is required.
        (("a", "n"), operator("x", "k"), {"a": X, "n": 1}, {"x": X}),
        (("a", "n"), operator("x", "k", required=("k",)), {"a": X, "n": 1}, {"x": X, "k": 1}),
        (("a",), operator("x", "k", required=("k",)), {"a": X}, None),
        # Without a signature nothing is known to be missing.
        (("a",), operator(), {"a": X, "n": 1}, {"a": X, "n": 1}),
    ],
)
def test_arguments_keep_their_names_or_their_places(declared, called, arguments, expected):
    assert own_arguments(operator(*declared), called, arguments) == expected
