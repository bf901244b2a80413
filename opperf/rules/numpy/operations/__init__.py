"""The canonical operations of NumPy's functions.

A function is here only if its operation's reference does not call it: the reference is written by
the definition, or through SciPy.
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
"""Tables of uses. Values are tested table by table."""

TABLE: Table = merge(*GROUPS.values())
