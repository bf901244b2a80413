"""PyTorch's operators that reduce, search, read and write at indices, join and split: their inputs
at matrices that are not square, and the arguments that say where parts begin."""

from __future__ import annotations

import dataclasses

import pytest

pytest.importorskip("torch")

from opperf.frameworks import load  # noqa: E402
from opperf.instruments.prepared import PreparedCase  # noqa: E402
from opperf.model import Case, Kind, Operator, Parameter, Settings  # noqa: E402
from opperf.rules.callables import inputs_for_target  # noqa: E402
from opperf.rules.registering import NoInputs  # noqa: E402
from opperf.rules.sizes import PRESETS  # noqa: E402
from opperf.rules.torch import joining  # noqa: E402
from opperf.rules.torch.operations import reductions  # noqa: E402
from opperf.rules.values import tensor  # noqa: E402

FRAMEWORK = load("torch")

CATEGORIES = (
    *("cumulative", "indexing", "joining", "reduction", "set", "sorting", "splitting"),
    "statistics",
)

LEAST = 180
"""Operators of these categories, at least."""


def operators() -> list[Operator]:
    """The operators of the categories that a run without names has."""
    found = [one for one in FRAMEWORK.operators() if one.category in CATEGORIES and one.is_usual]
    assert len(found) >= LEAST
    return found


@pytest.mark.parametrize("matrix", [(24, 40), (40, 24)])
def test_inputs_are_accepted_with_matrices_that_are_not_square(matrix: tuple[int, int]) -> None:
    preset = dataclasses.replace(PRESETS["small"], matrix=matrix)
    settings = Settings(device="cpu(0)", profiler="python")
    for operator in operators():
        made = inputs_for_target(FRAMEWORK, operator.target, operator, preset, settings.dtype)
        assert not isinstance(made, NoInputs), operator.label
        for inputs in made:
            case = Case(operator.target, inputs.arguments, settings, ("forward",))
            with FRAMEWORK.scope(case):
                PreparedCase(case, FRAMEWORK).call()


@pytest.mark.parametrize(
    "way", [joining.CHUNKS, joining.STEPS, joining.SIZES, joining.SECTIONS], ids=lambda way: ""
)
def test_equal_parts_begin_at_multiples_of_their_extent(way: joining.Way) -> None:
    assert list(way.starts(way.of_parts(4, 64), 64)) == [16, 32, 48]
    assert way.of_starts((1, 4), 64) == ((1, 3, 60) if way is joining.SIZES else None)


def test_parts_of_an_extent_that_is_no_multiple() -> None:
    assert list(joining.CHUNKS.starts(3, 10)) == [4, 8]
    assert list(joining.SECTIONS.starts(3, 10)) == [4, 7]
    assert list(joining.STEPS.starts(3, 10)) == [3, 6, 9]


def overload(name: str, kind: Kind | None, default: str | None = None) -> Operator:
    """An overload of a reduction, with a `dim` of this kind or none."""
    dim = () if kind is None else (Parameter("dim", kind, default is None, default),)
    parameters = (Parameter("self", Kind.TENSOR, True), *dim)
    return Operator("torch", "aten", "sum", overload=name, parameters=parameters)


@pytest.mark.parametrize(
    ("operator", "axis", "dim"),
    [
        (overload("default", None), None, {}),
        (overload("default", None), 1, None),
        (overload("default", Kind.INT, "None"), None, {}),
        (overload("default", Kind.INT, "-1"), None, None),
        (overload("dim", Kind.INT), None, None),
        (overload("dim", Kind.INT), 1, {"dim": 1}),
        (overload("dim", Kind.INT), (0, 1), None),
        (overload("dim_IntList", Kind.SHAPE, "None"), None, None),
        (overload("dim_IntList", Kind.SHAPE, "None"), 1, {"dim": (1,)}),
        (overload("dim_IntList", Kind.SHAPE, "None"), (0, 1), {"dim": (0, 1)}),
    ],
)
def test_axes_are_those_that_an_overload_takes(operator, axis, dim) -> None:
    x = tensor(4, 4)
    roles = {"x": x} if axis is None else {"x": x, "axis": axis}
    assert reductions.with_axes(operator, roles) == (None if dim is None else {"self": x, **dim})
