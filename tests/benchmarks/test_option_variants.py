"""Which values of options are tried: those that no case of the operator has."""

import pytest

from benchmarks.inputs.option_scan.variants import (
    PHASE,
    Variant,
    attempts,
    configurations,
    left_to_inference,
    variants,
)
from opperf.model import UNKNOWN, Case, Kind, Operator, OperatorTarget, Parameter, Settings
from opperf.rules.values import fixed, tensor

DATA = Parameter("data", Kind.TENSOR, True)
MODE = Parameter("mode", Kind.ENUM, False, "clip", ("clip", "raise", "wrap"))
FLIP = Parameter("flip", Kind.BOOL, False, "0")


def operator(*parameters, name="shift"):
    return Operator("fake", "nd", name, parameters=(DATA, *parameters))


def case(shape=(8, 6), phase="predict", **arguments):
    return Case(
        OperatorTarget("fake", "shift"),
        {"data": tensor(*shape), **arguments},
        Settings(phase=phase),
    )


def tried(made, cases, most=9, phases=False, text=""):
    found = variants(made, cases, most, phases, lambda operator: text)
    return [(one.parameter, one.value) for one in found]


def test_every_other_value_of_an_enumeration_and_a_boolean():
    assert tried(operator(MODE, FLIP), [case()]) == [
        ("mode", "raise"),
        ("mode", "wrap"),
        ("flip", True),
    ]


def test_values_that_any_case_has_are_not_tried_with_the_others():
    cases = [case(), case((4,), mode="wrap"), case((2, 2, 2), flip=True)]
    assert set(tried(operator(MODE, FLIP), cases)) == {("mode", "raise")}


def test_a_default_that_is_no_value():
    layout = Parameter("layout", Kind.ENUM, False, "None", ("None", "NCHW"))
    assert tried(operator(layout), [case()]) == [("layout", "NCHW")]
    assert tried(operator(layout), [case(layout="NCHW")]) == [("layout", None)]
    unset = Parameter("flip", Kind.BOOL, False, "None")
    assert tried(operator(unset), [case()]) == [("flip", False), ("flip", True)]


def test_numbers_that_are_off_by_default():
    temperature = Parameter("temperature", Kind.FLOAT, False, "None")
    epsilon = Parameter("eps", Kind.FLOAT, False, "1e-5")
    assert tried(operator(temperature, epsilon), [case()]) == [("temperature", 2.0)]
    assert tried(operator(temperature), [case(temperature=2.0)]) == []


def test_excluded_parameters_and_other_kinds():
    dtype = Parameter("dtype", Kind.ENUM, False, "int32", ("int32", "int64"))
    name = Parameter("name", Kind.STRING, False, "")
    assert tried(operator(dtype, name), [case()]) == []


@pytest.mark.parametrize(
    ("shape", "axis", "expected"),
    [((8, 6), -1, [0]), ((8, 6, 4), 0, [1, 2]), ((8, 6, 4, 2), -1, [0, 2]), ((8,), 0, [])],
)
def test_first_middle_and_last_axes(shape, axis, expected):
    parameter = Parameter("axis", Kind.INT, False, "-1")
    assert [value for _, value in tried(operator(parameter), [case(shape, axis=axis)])] == expected


def test_axes_that_other_cases_have_by_their_place():
    parameter = Parameter("axis", Kind.SHAPE, False, "None")
    cases = [case(axis=(1,)), case((8, 6, 4), axis=()), case((8, 6, 4), axis=(0,))]
    found = tried(operator(parameter), cases)
    assert found == [("axis", (1,))], "the middle one, of the case of three axes"


def test_words_of_a_documentation():
    kind = Parameter("kind", Kind.ENUM, False, "None")
    text = "    kind : {'quicksort',\n        'stable'}, optional\n    order : str"
    assert [value for _, value in tried(operator(kind), [case()], text=text)] == [
        "quicksort",
        "stable",
    ]
    assert tried(operator(kind), [case()], text="no words") == []


def test_the_phase_is_tried_once_unless_cases_have_both():
    cases = [case(), case((4,))]
    assert tried(operator(), cases, phases=True) == [(PHASE, "train")]
    assert tried(operator(), [case(phase="train")], phases=True) == [(PHASE, "predict")]
    assert tried(operator(), [*cases, case((2,), phase="train")], phases=True) == []
    assert tried(operator(), cases) == []


def test_configurations_differ_in_axes_first_and_then_in_options():
    flat, wide, flipped = case(), case((2, 3, 4)), case(flip=True)
    like_flat = case((9, 9))
    listed = [flat, like_flat, flipped, wide]
    assert configurations(operator(FLIP), listed, 9) == [flat, wide, flipped]
    assert configurations(operator(FLIP), listed, 2) == [flat, wide]


def made(variant, of, inferred_first=False):
    return [one.arguments for one in attempts(variant, of, inferred_first)]


def test_attempts_leave_shapes_to_the_framework_after_or_before_those_of_the_case():
    base = case(weight=fixed(6))
    first, second = made(Variant(base, "axis", 0), operator())
    assert first == {**base.arguments, "axis": 0}
    assert second["weight"].shape == UNKNOWN and second["data"] == base.arguments["data"]
    assert made(Variant(base, "axis", 0), operator(), inferred_first=True) == [second, first]
    assert left_to_inference(case()) == case()


def test_attempts_to_remove_a_value_and_to_change_the_phase():
    assert made(Variant(case(layout="NCHW"), "layout", None), operator()) == [case().arguments]
    (trained,) = attempts(Variant(case(), PHASE, "train"), operator(), False)
    assert trained == case(phase="train")


def test_attempts_without_the_tensor_that_an_option_has_no_use_for():
    base = case(bias=fixed(6))
    found = made(Variant(base, "no_bias", True), operator())
    assert {"data": base.arguments["data"], "no_bias": True} in found
    assert all("bias" in one for one in made(Variant(base, "no_bias", False), operator()))


def test_attempts_with_the_tensor_that_an_option_asks_for():
    parameters = Parameter("length", Kind.TENSOR, True), Parameter("use_length", Kind.BOOL, False)
    found = made(Variant(case(), "use_length", True), operator(*parameters))
    assert list(found[-1]) == ["data", "length", "use_length"]
    assert found[-1]["length"].fill.high == 7, "in range of the shortest axis"


def test_keys_differ_and_have_no_space():
    keys = {Variant(case(), "axis", value).key for value in (0, (0,), (0, 1))}
    assert len(keys) == 3 and not any(" " in key for key in keys)
