"""Lines of why that are made from arguments."""

import pytest

from opperf.rules.configurations import Configuration, describe_arguments, set_apart
from opperf.rules.values import tensor, tensors


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            {"a": tensor(4, 3), "b": tensor(4, 3), "axis": 0},
            "4 x 3 elements for a and b, 0 for axis",
        ),
        ({"args": tensors([tensor(2)] * 3)}, "3 times 2 elements for args"),
        (
            {"args": tensors([tensor(2), tensor(5)])},
            "1 times 2 elements and 1 times 5 elements for args",
        ),
        ({"x": tensor(), "axes": (0, 1)}, "1 elements for x, (0, 1) for axes"),
    ],
)
def test_arguments_are_described(arguments, line):
    assert describe_arguments(arguments) == line


def test_a_shared_line_has_the_choice_in_front():
    def made(why, **chosen):
        return Configuration({"x": 1}, "rule:a", why, None), chosen

    pairs = [made("square", kind="relu"), made("square", kind="tanh"), made("call", kind="relu")]
    lines = ["kind=relu: square", "kind=tanh: square", "call"]
    assert [one.why for one in set_apart(pairs)] == lines
    assert [one.why for one in set_apart([made("square"), made("square")])] == ["square", "square"]
