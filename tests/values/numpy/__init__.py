"""NumPy's functions, and the canonical operations that they are.

A function is here if its operation's reference is written otherwise than by that function: by the
definition, or through SciPy.
"""

from __future__ import annotations

from tests.values.numpy import elementwise, matrices, reductions, sampling, shapes
from tests.values.uses import Table, merged

GROUPS: dict[str, Table] = {
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
"""Tables of uses, each of which has a test."""

TABLE: Table = merged(*GROUPS.values())

CONSTANT = frozenset({"isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf"})
"""Functions that are to give one number everywhere: no array of a benchmark holds what they look
for, and no two are alike."""
