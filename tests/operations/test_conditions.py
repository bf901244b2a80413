"""Uses that take a part of an operation's inputs."""

from __future__ import annotations

from opperf.model import Kind, Operator, Parameter
from opperf.operations.conditions import if_complete, of_ranks, only_if
from opperf.operations.uses import use
from opperf.rules.values import tensor


def operator(*required: str) -> Operator:
    """An operator that requires tensors of these names."""
    return Operator(
        framework="toy",
        namespace="toy",
        name="mm",
        parameters=tuple(Parameter(name, Kind.TENSOR, required=True) for name in required),
    )


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
