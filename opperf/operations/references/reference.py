"""References of operations, and properties of outputs that are not unique."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Pairs = Iterable[tuple[Any, Any]]
Outputs = Any
"""An array, a tuple of arrays, or arrays by role where an operation has new values of several of
its inputs, as the update of an optimizer has."""

STANDARD_ERRORS = 5.0
"""Standard errors that a statistic of draws may deviate by: correct draws exceed them less than
once in a million times."""


@dataclass(frozen=True)
class Reference:
    """An operation whose outputs follow from its inputs."""

    compute: Callable[..., Outputs]
    """Computes the outputs from the inputs by role, floating tensors in double precision."""


@dataclass(frozen=True)
class Property:
    """An operation whose outputs are not unique: signs of eigenvectors, random numbers."""

    pairs: Callable[..., Pairs]
    """Computes pairs of arrays that must be equal, from the outputs and the inputs by role."""


def references(functions: Mapping[str, Callable[..., Outputs]]) -> dict[str, Reference]:
    """References by the operation's name, from the functions that compute them."""
    return {name: Reference(function) for name, function in functions.items()}


def properties(functions: Mapping[str, Callable[..., Pairs]]) -> dict[str, Property]:
    """Properties by the operation's name, from the functions that compute their pairs."""
    return {name: Property(function) for name, function in functions.items()}


def last(indices: Iterable[Any]) -> Any:
    """The index with these indices along the last axes."""
    return (..., *indices)
