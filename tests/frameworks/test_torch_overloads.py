"""Overloads of recorded calls that name none."""

import pytest

from opperf.model import Case, Device, DType, MemoryFormat, OperatorTarget, TensorSpec

pytest.importorskip("torch")

from opperf.frameworks.torch.overloads import with_overload

FLOAT, INTEGER = TensorSpec((2, 4)), TensorSpec((), "int64")


def found(name, *values):
    """The overload, arguments and line of why of a call."""
    arguments = {str(place): value for place, value in enumerate(values)}
    made = with_overload(Case(OperatorTarget("torch", f"aten.{name}", ""), arguments, why="a call"))
    return made.target.overload, made.arguments, made.why


def test_the_overload_is_the_one_that_takes_the_types():
    assert found("add", FLOAT, FLOAT, 1)[:2] == (
        "Tensor",
        {"self": FLOAT, "other": FLOAT, "alpha": 1},
    )
    assert found("softmax", FLOAT, -1, None) == ("int", {"self": FLOAT, "dim": -1}, "a call")
    assert found("sum", FLOAT, (0,), True, 6)[:2] == (
        "dim_IntList",
        {"self": FLOAT, "dim": (0,), "keepdim": True, "dtype": DType("float32")},
    )


def test_of_several_that_take_them_the_line_of_why_names_all():
    overload, _, why = found("to", FLOAT, INTEGER, False, False, None)
    assert overload == "other" and why == "a call"
    overload, _, why = found("mul", FLOAT, 2.0)
    assert overload == "Scalar" and why == "a call"
    _, _, why = found("view", FLOAT, None)
    assert why.startswith("a call; view.default, or view.dtype: its types fit all of them")


def test_a_value_that_is_not_in_the_trace_is_the_default_and_said():
    overload, arguments, why = found("gelu", FLOAT, None)
    assert (overload, arguments) == ("default", {"self": FLOAT})
    assert why == "a call; approximate not in the trace, the default is used"


def test_a_device_that_is_required_is_that_of_the_case():
    overload, arguments, _ = found("to", INTEGER, None, 4, False, False, 1)
    assert overload == "device" and arguments["device"] == Device()
    assert arguments["memory_format"] == MemoryFormat("preserve")


def test_a_call_that_none_takes_stays_as_it_is():
    overload, arguments, why = found("mm", FLOAT, 3)
    assert (overload, arguments, why) == ("", {"0": FLOAT, "1": 3}, "a call")
