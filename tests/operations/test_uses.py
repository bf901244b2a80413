"""Uses convert arguments to inputs by role, and back."""

from __future__ import annotations

from typing import Any

import pytest

from opperf.model import Kind, Operator, Parameter
from opperf.operations.uses import (
    Choice,
    Written,
    if_complete,
    merge,
    names_of,
    of_ranks,
    only_if,
    only_written_to,
    use,
    uses,
    written_to,
)
from opperf.rules.configurations import PHASE
from opperf.rules.values import tensor


def operator(*names: str, **choices: tuple[str, ...]) -> Operator:
    parameters = [Parameter(name, Kind.TENSOR, True) for name in names]
    parameters += [Parameter(name, Kind.ENUM, True, None, own) for name, own in choices.items()]
    return Operator("fake", "nd", "op", parameters=tuple(parameters))


def roles_of(entry: Any, **arguments: Any) -> Any:
    """The inputs by role of an operation's function, for a call's arguments."""
    return entry.apply(lambda **roles: roles, arguments)


def test_roles_of_arguments_by_words() -> None:
    entry = use("add", "x=lhs|data y axis -dtype", epsilon=0.5)
    assert roles_of(entry, data=1, y=2, dtype="int8") == {"x": 1, "y": 2, "epsilon": 0.5}
    assert roles_of(entry, lhs=1, axis=0) == {"x": 1, "axis": 0, "epsilon": 0.5}


def test_an_argument_without_a_word_is_an_error() -> None:
    with pytest.raises(KeyError):
        roles_of(use("add", "x=lhs"), lhs=1, keepdims=True)


def test_roles_of_arguments_by_a_function() -> None:
    entry = use("quantile", lambda a, q: {"x": a, "share": q / 100})
    assert roles_of(entry, a=1, q=50) == {"x": 1, "share": 0.5}


def test_arguments_of_roles_in_the_roles_order() -> None:
    made = use("layer_norm", "data scale=gamma").to_arguments(
        operator("data"), {"scale": 1, "data": 2}
    )
    assert list((made or {}).items()) == [("gamma", 1), ("data", 2)]


@pytest.mark.parametrize(("own", "named"), [("data", "data"), ("x", "x"), ("other", "lhs")])
def test_of_several_names_the_operators_own(own: str, named: str) -> None:
    assert use("abs", "x=lhs|data|x").to_arguments(operator(own), {"x": 1}) == {named: 1}


def test_constants_of_the_operator_are_omitted() -> None:
    entry = use("flip", "x=m", axis=1)
    assert entry.to_arguments(operator("m"), {"x": 5, "axis": 1}) == {"m": 5}
    assert entry.to_arguments(operator("m"), {"x": 5, "axis": 0}) is None


def test_a_role_without_an_argument_is_refused() -> None:
    assert use("flip", "x=m").to_arguments(operator("m"), {"x": 5, "axis": 0}) is None


@pytest.mark.parametrize(("word", "made"), [("edge", {"mode": "edge"}), ("wrap", None)])
def test_a_value_that_is_none_of_the_choices_is_refused(word: str, made: object) -> None:
    entry = use("pad", "mode")
    assert entry.to_arguments(operator(mode=("constant", "edge")), {"mode": word}) == made


def test_arguments_of_one_framework() -> None:
    entry = use("deconvolution", "data -no_bias", also={"no_bias": False})
    assert entry.to_arguments(operator("data"), {"data": 1}) == {"data": 1, "no_bias": False}


def test_arguments_by_a_function() -> None:
    entry = use(
        "dense", "data", to_arguments=lambda operator, roles: {operator.name: roles["data"]}
    )
    assert entry.to_arguments(operator("data"), {"data": 1}) == {"op": 1}


def test_a_choice_is_by_the_value_of_an_argument() -> None:
    absent, one = use("floor"), use("ceil")
    choice = Choice("mode", {None: absent, "up": one})
    assert choice.of({}) is absent
    assert choice.of({"mode": "up"}) is one
    assert choice.operations == {"floor", "ceil"}
    assert list(choice.each(operator("x"))) == [(absent, {}), (one, {"mode": "up"})]


def test_a_build_has_some_of_the_choices() -> None:
    one, other = use("relu"), use("mish")
    choice = Choice("kind", {"mish": other, "relu": one})
    assert list(choice.each(operator(kind=("relu", "none")))) == [(one, {"kind": "relu"})]


def test_a_choice_is_by_the_phase_where_an_operator_is_two_operations() -> None:
    train, predict = use("dropout"), use("dropout_inference")
    choice = Choice(PHASE, {"train": train, "predict": predict})
    assert choice.of({"x": 1, PHASE: "predict"}) is predict
    assert list(choice.each(operator("x"))) == [
        (train, {PHASE: "train"}),
        (predict, {PHASE: "predict"}),
    ]


def test_a_use_is_its_only_one() -> None:
    one = use("add")
    assert one.of({"x": 1}) is one
    assert list(one.each(operator())) == [(one, {})]
    assert one.operations == {"add"}


def test_where_outputs_are_written() -> None:
    assert written_to("out")(1, {}) == Written(1, {"out": 1})
    assert only_written_to("out")(1, {}) == Written((), {"out": 1})


def test_the_output_of_a_call_is_converted_from_that_of_the_operation() -> None:
    entry = use("unravel_index", "x", lambda made, arguments: (made, arguments["x"]))
    assert entry.apply(lambda x: x + 1, {"x": 2}) == (3, 2)


def test_uses_of_several_names() -> None:
    table = uses(("sub", "add"), "x y", "_{}", {"sub": "subtract"})
    assert names_of(table) == {"subtract": ("_sub",), "add": ("_add",)}


def test_an_operator_is_in_one_table() -> None:
    with pytest.raises(ValueError, match="add"):
        merge({"add": use("add")}, {"add": use("add"), "sub": use("subtract")})


def test_operator_names_by_operation() -> None:
    table = merge(
        {"add": use("add"), "plus": use("add")}, {"act": Choice("mode", {1: use("relu")})}
    )
    assert names_of(table) == {"add": ("add", "plus"), "relu": ("act",)}


PRODUCT = use("matrix_product", "x=self y=other")
MATRICES = {"x": tensor(3, 4), "y": tensor(4, 5)}
VECTORS = {"x": tensor(4), "y": tensor(4)}


def test_inputs_of_other_ranks_are_not_taken() -> None:
    taken = of_ranks(PRODUCT, x=2, y=2)
    made = taken.to_arguments(operator("self", "other"), MATRICES)
    assert made == {"self": MATRICES["x"], "other": MATRICES["y"]}
    assert taken.to_arguments(operator("self", "other"), VECTORS) is None


def test_inputs_without_a_required_argument_are_not_taken() -> None:
    taken = if_complete(PRODUCT)
    assert taken.to_arguments(operator("self", "other"), MATRICES) is not None
    assert taken.to_arguments(operator("self", "other", "out"), MATRICES) is None


def test_inputs_of_which_nothing_holds_are_not_taken() -> None:
    taken = only_if(PRODUCT, lambda roles: roles["x"] == VECTORS["x"])
    assert taken.to_arguments(operator("self", "other"), VECTORS) is not None
    assert taken.to_arguments(operator("self", "other"), MATRICES) is None
