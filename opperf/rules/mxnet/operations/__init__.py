"""The canonical operations of MXNet's operators, of both major versions."""

from __future__ import annotations

from opperf.operations.uses import Table, merge
from opperf.rules.mxnet.operations import (
    convolutions,
    elementwise,
    indexing,
    layers,
    matrices,
    optimizers,
    recurrent,
    reductions,
    sampling,
    shapes,
)

GROUPS: dict[str, Table] = {
    "of one tensor": elementwise.UNARY,
    "of two tensors or a number": elementwise.BINARY,
    "reductions": reductions.REDUCED,
    "sorting": reductions.SORTED,
    "from nothing": reductions.CREATED,
    "shapes": shapes.TABLE,
    "indexing": indexing.TABLE,
    "matrices": matrices.TABLE,
    "convolutions": convolutions.CONVOLUTIONS,
    "layers": layers.LAYERS,
    "recurrent": recurrent.TABLE,
    "losses": layers.LOSSES,
    "quantisation": layers.QUANTISED,
    "optimizers": optimizers.TABLE,
    "sampling": sampling.TABLE,
}
"""Tables of uses. Values are tested table by table."""

TABLE: Table = merge(*GROUPS.values())
