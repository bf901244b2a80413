"""The canonical operations of PyTorch's operators, by overload (`add.Tensor`) or, for all overloads
without an entry of their own, by name (`add`)."""

from __future__ import annotations

from opperf.operations.uses import Table, merge
from opperf.rules.torch.operations import (
    activations,
    conversion,
    convolutions,
    creation,
    elementwise,
    indexing,
    joining,
    layers,
    losses,
    matrices,
    normalisation,
    products,
    quantization,
    recurrent,
    reductions,
    sampling,
    searching,
    shapes,
    sparse,
    transforms,
)

GROUPS: dict[str, Table] = {
    "activations": activations.TABLE,
    "conversion": conversion.TABLE,
    "convolutions": convolutions.TABLE,
    "creation": creation.TABLE,
    "elementwise": elementwise.TABLE,
    "indexing": indexing.TABLE,
    "joining": joining.TABLE,
    "layers": layers.TABLE,
    "losses": losses.TABLE,
    "matrices": matrices.TABLE,
    "normalisation": normalisation.TABLE,
    "products": products.TABLE,
    "quantization": quantization.TABLE,
    "recurrent": recurrent.TABLE,
    "reductions": reductions.TABLE,
    "sampling": sampling.TABLE,
    "searching": searching.TABLE,
    "shapes": shapes.TABLE,
    "sparse": sparse.TABLE,
    "transforms": transforms.TABLE,
}
"""Tables of uses. Values are tested table by table."""

TABLE: Table = merge(*GROUPS.values())
