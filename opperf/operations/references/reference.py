"""References of operations, and properties of outputs that are not unique."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Pairs = Iterable[tuple[Any, Any]]
Functions = dict[str, Callable[..., Any]]
"""Functions by the operation's name."""
Outputs = Any
"""An array, a tuple of arrays, or arrays by role, such as those of an optimizer."""

STANDARD_ERRORS = 5.0
"""Standard errors that draws may deviate by, which correct ones exceed once in a million times."""


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


def last(indices: Iterable[Any]) -> Any:
    """The index with these indices along the last axes."""
    return (..., *indices)
