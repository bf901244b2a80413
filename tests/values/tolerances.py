"""Tolerances of the comparison of operators with their operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from opperf.operations import OPERATIONS
from opperf.operations.references.reference import Array


@dataclass(frozen=True)
class Tolerance:
    """Largest difference of an operator by its output dtype, relative to each element.

    What is left of terms that cancel has the error of the terms. So each element may also be off
    by some of that share of the largest one, and by `least` where nothing is left of any.
    """

    relative: Mapping[str, float]
    of_largest: float
    least: float

    def absolute(self, relative: float, expected: Array) -> float:
        """Returns the largest absolute difference of an element."""
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
"""For weights of up to four: their decay changes them by a millionth in one step, which must be
detected."""

BY_PLACE = Tolerance(USUAL.relative, of_largest=2.0, least=USUAL.least)
"""For operators that compute places in a picture in single precision: at a side of 160 pixels they
have an error of 2e-5, times the difference of neighbours."""


UPDATES = [name for name, operation in OPERATIONS.items() if operation.module == "optimizers"]
SCALINGS = [name for name in OPERATIONS if name.startswith("upsample")]

BY_OPERATION: dict[str, Tolerance] = {
    **dict.fromkeys(UPDATES, STRICT),
    **dict.fromkeys(SCALINGS, BY_PLACE),
}
"""By operation."""

ROUGH_SQUARES = Tolerance(STRICT.relative, of_largest=2.0, least=STRICT.least)
"""For operators that add a thousandth of the gradient's square, with an error of 1e-4."""

BY_OPERATOR: dict[str, Tolerance] = dict.fromkeys(
    ("_multi_adamw_update", "_multi_mp_adamw_update"), ROUGH_SQUARES
)
"""By operator, less strict than its operation's."""


def tolerance_of(operator: str, operation: str) -> Tolerance:
    """Returns the tolerance of an operator compared with an operation."""
    return BY_OPERATOR.get(operator) or BY_OPERATION.get(operation, USUAL)
