"""What operations compute, by the field's names for them and their inputs, in NumPy and SciPy.

Nothing here knows a framework: a table of `tests.values` says for each of a framework's operators
which operation it is and how its arguments map to the operation's roles.
"""

from __future__ import annotations

from tests.values.canonical import (
    binary,
    convolutions,
    creation,
    factorisations,
    indexing,
    layers,
    losses,
    matrices,
    normalisation,
    optimizers,
    quantization,
    reductions,
    sampling,
    shapes,
    sorting,
    unary,
)
from tests.values.canonical.operation import Operation

GROUPS = (
    *(binary, convolutions, creation, factorisations, indexing, layers, losses, matrices),
    *(normalisation, optimizers, quantization, reductions, sampling, shapes, sorting, unary),
)

OPERATIONS: dict[str, Operation] = {
    name: operation for group in GROUPS for name, operation in group.OPERATIONS.items()
}
