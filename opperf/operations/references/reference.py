"""References of operations, and properties of outputs that are not unique."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Pairs = Iterable[tuple[Any, Any]]
Made = Any
"""An array, a tuple of arrays, or arrays by role where an operation gives new values of several of
its inputs, as the update of an optimizer does."""


ERRORS = 5.0
"""Standard errors that a statistic of draws may be off by: one correct draw in a million is."""


@dataclass(frozen=True)
class Reference:
    """An operation whose outputs follow from its inputs."""

    compute: Callable[..., Made]
    """Takes the inputs by role, floating tensors in double precision, and gives the outputs."""


@dataclass(frozen=True)
class Property:
    """An operation whose outputs are not unique: signs of eigenvectors, random numbers."""

    pairs: Callable[..., Pairs]
    """Takes the outputs and the inputs by role, and gives pairs of arrays that must be alike."""


def references(functions: Mapping[str, Callable[..., Made]]) -> dict[str, Reference]:
    """References by the operation's name, of the functions that compute them."""
    return {name: Reference(function) for name, function in functions.items()}


def properties(functions: Mapping[str, Callable[..., Pairs]]) -> dict[str, Property]:
    """Properties by the operation's name, of the functions that give pairs of arrays that must be
    alike."""
    return {name: Property(function) for name, function in functions.items()}


def last(places: Iterable[Any]) -> Any:
    """The index of these places in the last axes."""
    return (..., *places)
