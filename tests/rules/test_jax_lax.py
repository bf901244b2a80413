"""Inputs of `jax.lax`, whose functions want every axis, extent and dtype."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

pytest.importorskip("jax")

from opperf.frameworks import load  # noqa: E402
from opperf.model import Operator  # noqa: E402
from opperf.rules.engine import Inputs, inputs_for, rules_module  # noqa: E402
from opperf.rules.jax import lax_reductions, lax_shapes  # noqa: E402
from opperf.rules.sizes import PRESETS  # noqa: E402
from tests.values.jax.particular import LATER  # noqa: E402

FRAMEWORK = load("jax")
RULES = rules_module(FRAMEWORK.rules)
ONE = ("lax.collapse", "lax.conv_general_dilated_patches", "lax.expand_dims", "lax.squeeze")
"""Functions that networks call with one kind of input, or that XLA compiles to one kind of copy."""

LONGEST = 120
"""Characters of a line of why, at most."""


def inputs(name: str, size: str = "default") -> list[Inputs]:
    """The configurations of a function."""
    operator = FRAMEWORK.resolve(name)
    assert isinstance(operator, Operator)
    made = inputs_for(operator, RULES, PRESETS[size], "float32")
    assert isinstance(made, list), made
    return made


def test_every_function_has_several_inputs_each_with_a_reason() -> None:
    wrong: dict[str, list[str]] = {}
    absent = {name for name in LATER if FRAMEWORK.resolve(name) is None}
    for name in sorted(
        name for name in RULES.OPERATIONS.keys() - absent if name.startswith("lax.")
    ):
        reasons = [one.why for one in inputs(name)]
        if (
            len(reasons) <= (name not in ONE)
            or len(set(reasons)) < len(reasons)
            or not all(0 < len(why) <= LONGEST for why in reasons)
        ):
            wrong[name] = reasons
    assert wrong == {}


def older(name: str, **required: bool | None) -> list[Inputs]:
    """The configurations of a function some of whose parameters are required, or (None) absent."""
    operator = FRAMEWORK.resolve(name)
    assert isinstance(operator, Operator)
    parameters = [
        msgspec.structs.replace(one, required=required.get(one.name, one.required))
        for one in operator.parameters
        if required.get(one.name, True) is not None
    ]
    one = msgspec.structs.replace(operator, parameters=tuple(parameters))
    made = inputs_for(one, RULES, PRESETS["small"], "")
    assert isinstance(made, list), made
    return made


def test_functions_as_jax_0_6_has_them() -> None:
    now = [one.arguments for one in inputs("lax.reduce_window", "small")]
    then = [one.arguments for one in older("lax.reduce_window", padding=True)]
    assert [one.pop("padding") for one in then] == ["SAME", "SAME", "VALID", "SAME", "VALID"]
    assert then == [{k: v for k, v in one.items() if k != "padding"} for one in now]
    whys = [one.why for one in older("lax.dot", dimension_numbers=None)]
    assert len(whys) == 6
    assert whys == [one.why for one in older("lax.dot") if "dimension_numbers" not in one.arguments]


def test_no_extent_is_left_to_infer() -> None:
    shapes = [one.arguments["new_sizes"] for one in inputs("lax.reshape", "small")]
    assert all(extent > 0 for shape in shapes for extent in shape)
    assert lax_shapes.complete((4, -1, 4), 64) == (4, 4, 4)


def test_all_axes_are_listed() -> None:
    axes = [one.arguments["axes"] for one in inputs("lax.reduce_sum", "small")]
    assert (0, 1) in axes
    assert (1, 0) in [one.arguments["permutation"] for one in inputs("lax.transpose", "small")]


def test_logical_reductions_are_of_booleans() -> None:
    assert {one.arguments["operand"].dtype for one in inputs("lax.reduce_and")} == {"bool"}
    assert {one.arguments["operand"].dtype for one in inputs("lax.reduce_xor")} == {
        "int32",
        "uint32",
    }


def test_zeros_between_elements_are_part_of_the_padded_tensor() -> None:
    roles = lax_shapes.pad_roles(np.array([1.0, 2.0]), 0.0, ((1, 0, 2),))
    assert roles["x"].tolist() == [1.0, 0.0, 0.0, 2.0]
    assert roles["widths"] == [(1, 0)]


def test_tensors_are_sorted_by_the_first_key_before_the_second() -> None:
    first, second, places = np.array([1, 0, 1]), np.array([2, 9, 1]), np.arange(3)
    arguments = {"operand": (first, second, places), "num_keys": 2}
    made = lax_reductions.sorted_together(np.sort(first), arguments)
    assert made[2].tolist() == [1, 2, 0]
