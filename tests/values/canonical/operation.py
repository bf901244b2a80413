"""What a canonical operation is: what it gives, and how near to that an operator has to come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Pairs = Iterable[tuple[Any, Any]]
Made = Any
"""An array, a tuple of arrays, or arrays by role where an operation gives new values of several of
its inputs, as the update of an optimizer does."""


@dataclass(frozen=True)
class Tolerance:
    """How far an operator may be off, by the type it gives: each element by a share of itself.

    What is left of terms that cancel has the error of the terms. So each element may also be off
    by some of that share of the largest one, and by `least` where nothing is left of any.
    """

    relative: Mapping[str, float]
    of_largest: float
    least: float

    def absolute(self, relative: float, expected: Array) -> float:
        """What each element may be off by, whatever it is itself."""
        if not relative:
            return 0.0
        finite = np.abs(expected[np.isfinite(expected)])
        return self.least + self.of_largest * relative * float(finite.max(initial=0.0))


USUAL = Tolerance(
    {"float16": 2e-3, "float32": 1e-4, "float64": 1e-4, "complex64": 1e-4, "complex128": 1e-4},
    of_largest=0.1,
    least=2e-6,
)
"""Single precision has an error of 6e-8, which a sum of ten thousand terms, the condition of a
matrix (up to 5) and fast exponentials and roots make a thousand times as large at most. Half
precision has 5e-4. Outputs in double precision are often calculated in single."""

STRICT = Tolerance({"float16": 1e-3, "float32": 5e-7}, of_largest=0.4, least=2e-7)
"""For weights of up to four: their decay changes them by a millionth in one step, which has to be
seen."""


ERRORS = 5.0
"""Standard errors that what is drawn may be off by: one right draw in a million is."""


@dataclass(frozen=True)
class Reference:
    """An operation whose inputs say all about its outputs."""

    compute: Callable[..., Made]
    """Takes the inputs by role, floating tensors in double precision, and gives the outputs."""
    tolerance: Tolerance = USUAL


@dataclass(frozen=True)
class Property:
    """An operation whose outputs are not unique: signs of eigenvectors, random numbers."""

    pairs: Callable[..., Pairs]
    """Takes the outputs and the inputs by role, and gives pairs of arrays that must be alike."""
    tolerance: Tolerance = USUAL


Operation = Reference | Property


def references(
    functions: Mapping[str, Callable[..., Made]], tolerance: Tolerance = USUAL
) -> dict[str, Operation]:
    """Operations by name, of the functions that compute them."""
    return {name: Reference(function, tolerance) for name, function in functions.items()}


def properties(functions: Mapping[str, Callable[..., Pairs]]) -> dict[str, Operation]:
    """Operations by name, of the functions that give pairs of arrays that must be alike."""
    return {name: Property(function) for name, function in functions.items()}
