"""NumPy's functions, and the canonical operations that they are.

A function is here if its operation's reference is written otherwise than by that function: by the
definition, or through SciPy.
"""

from __future__ import annotations

from opperf.operations.uses import Table, merge
from opperf.rules.numpy.operations import elementwise, matrices, reductions, sampling, shapes

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

TABLE: Table = merge(*GROUPS.values())
