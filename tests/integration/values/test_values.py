"""What is timed is what the operator is for: a case's call gives what NumPy makes of its tensors.

Every configuration of an operator at size small is compared, made real as a run makes it. What is
not compared is left out of the tables of `references`; nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from references import (
    CONSTANT,
    FIRST_ONLY,
    SECOND_ONLY,
    STRICT,
    USUAL,
    binary,
    convolutions,
    indexing,
    layers,
    losses,
    matrices,
    numpy_like,
    optimizers,
    quantization,
    reductions,
    sampling,
    shapes,
    sorting,
    unary,
)

from opperf.frameworks import load
from opperf.model import Case

Compare = Callable[..., None]

OPERATORS = {name: operator for operator in load("mxnet").operators() for name in operator.names}

GROUPS: tuple[Any, ...] = (
    *(binary, convolutions, indexing, layers, losses, matrices, numpy_like, optimizers),
    *(quantization, reductions, sampling, shapes, sorting, unary),
)

NAMES = [
    name for group in GROUPS for name in (*group.REFERENCES, *(getattr(group, "PROPERTIES", ())))
]

LEAST = 170
"""Distinct operators that are compared, at least, whatever the build."""


def here(names: Iterable[str]) -> list[str]:
    """Those that this build of MXNet has: `test_no_name_is_unknown` sees to the others."""
    return [name for name in names if name in OPERATORS]


@pytest.mark.parametrize("name", here(unary.REFERENCES))
def test_of_one_tensor(agrees: Compare, name: str) -> None:
    agrees(name, unary.REFERENCES[name], USUAL)


@pytest.mark.parametrize("name", here(binary.REFERENCES))
def test_of_two_tensors_or_a_number(agrees: Compare, name: str) -> None:
    agrees(name, binary.REFERENCES[name], USUAL)


@pytest.mark.parametrize("name", here(reductions.REFERENCES))
def test_reductions(agrees: Compare, name: str) -> None:
    agrees(name, reductions.REFERENCES[name], USUAL)


@pytest.mark.parametrize("name", here(shapes.REFERENCES))
def test_shapes(agrees: Compare, name: str) -> None:
    agrees(name, shapes.REFERENCES[name], USUAL)


@pytest.mark.parametrize("name", here(indexing.REFERENCES))
def test_indexing(agrees: Compare, name: str) -> None:
    agrees(name, indexing.REFERENCES[name], USUAL)


@pytest.mark.parametrize("name", here(matrices.REFERENCES))
def test_matrices(agrees: Compare, name: str) -> None:
    agrees(name, matrices.REFERENCES[name], USUAL)


@pytest.mark.parametrize("name", here(matrices.PROPERTIES))
def test_factorisations(holds: Compare, name: str) -> None:
    holds(name, matrices.PROPERTIES[name], USUAL)


@pytest.mark.parametrize("name", here(sorting.REFERENCES))
def test_sorting(agrees: Compare, name: str) -> None:
    agrees(name, sorting.REFERENCES[name], USUAL)


@pytest.mark.parametrize("name", here(layers.REFERENCES))
def test_layers(agrees: Compare, name: str) -> None:
    agrees(name, layers.REFERENCES[name], USUAL)


@pytest.mark.parametrize("name", here(layers.PROPERTIES))
def test_layers_with_something_random(holds: Compare, name: str) -> None:
    holds(name, layers.PROPERTIES[name], USUAL)


@pytest.mark.parametrize("name", here(convolutions.REFERENCES))
def test_convolutions(agrees: Compare, name: str) -> None:
    agrees(name, convolutions.REFERENCES[name], USUAL)


@pytest.mark.parametrize("name", here(losses.REFERENCES))
def test_losses(agrees: Compare, name: str) -> None:
    agrees(name, losses.REFERENCES[name], USUAL)


@pytest.mark.parametrize("name", here(optimizers.REFERENCES))
def test_optimizers(agrees: Compare, name: str) -> None:
    agrees(name, optimizers.REFERENCES[name], optimizers.TOLERANCES.get(name, STRICT))


@pytest.mark.parametrize("name", here(quantization.REFERENCES))
def test_quantisation(agrees: Compare, name: str) -> None:
    agrees(name, quantization.REFERENCES[name], USUAL)


@pytest.mark.parametrize("name", here(numpy_like.REFERENCES))
def test_from_nothing_and_numpy_like(agrees: Compare, name: str) -> None:
    agrees(name, numpy_like.REFERENCES[name], USUAL)


@pytest.mark.parametrize("name", here(sampling.REFERENCES))
def test_densities(agrees: Compare, name: str) -> None:
    agrees(name, sampling.REFERENCES[name], USUAL)


@pytest.mark.parametrize("name", here(sampling.PROPERTIES))
def test_sampling(holds: Compare, name: str) -> None:
    holds(name, sampling.PROPERTIES[name], USUAL)


def test_no_name_is_unknown() -> None:
    """Every build has all the operators but those of one major version, which are listed."""
    missing = {name for name in NAMES if name not in OPERATORS}
    assert missing in (set(FIRST_ONLY), set(SECOND_ONLY))


def test_no_operator_is_in_two_tables() -> None:
    assert len(NAMES) == len(set(NAMES))
    assert set(NAMES) >= CONSTANT


def test_enough_operators_are_compared(cases: Callable[[str], tuple[Case, ...]]) -> None:
    compared = {OPERATORS[name].name for name in here(NAMES)}
    assert len(compared) >= LEAST
    assert all(cases(name) for name in compared)
