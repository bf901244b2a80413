"""NumPy's functions, and the canonical operations that they are.

A function is here if its operation's reference is written otherwise than by that function: by the
definition, or through SciPy.
"""

from __future__ import annotations

import operator

import numpy as np

from tests.values.numpy import elementwise, matrices, reductions, sampling, shapes
from tests.values.uses import Table, merged

VERSIONED = frozenset(
    {
        *("cumulative_prod", "cumulative_sum", "in1d"),
        *("linalg.cross", "linalg.outer", "linalg.tensordot"),
    }
)
"""Functions that only some versions of NumPy have. Any other name is to be in all of them."""


def here(table: Table) -> Table:
    """What of a table this NumPy has."""
    return {name: one for name, one in table.items() if name not in VERSIONED or has(name)}


def has(name: str) -> bool:
    """Whether NumPy has a function of this dotted name."""
    try:
        return callable(operator.attrgetter(name)(np))
    except AttributeError:
        return False


_ALL: dict[str, Table] = {
    "of one array": elementwise.UNARY,
    "of two arrays": elementwise.BINARY,
    "reductions": reductions.REDUCED,
    "searches and sets": reductions.SEARCHED,
    "from nothing": reductions.CREATED,
    "shapes": shapes.SHAPES,
    "indexing": shapes.INDEXING,
    "products": matrices.PRODUCTS,
    "factorisations": matrices.FACTORISATIONS,
    "transforms": matrices.TRANSFORMS,
    "sampling": sampling.TABLE,
}

GROUPS = {name: here(table) for name, table in _ALL.items()}
"""Tables of uses, each of which has a test."""

TABLE: Table = merged(*GROUPS.values())

CONSTANT = frozenset({"isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf"})
"""Functions that are to give one number everywhere: no array of a benchmark holds what they look
for, and no two are alike."""
