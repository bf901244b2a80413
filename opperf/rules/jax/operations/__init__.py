"""The canonical operations of JAX's functions, but for those of `jax.numpy` that NumPy has."""

from __future__ import annotations

from opperf.operations.uses import Table, merge
from opperf.rules.jax.operations import (
    lax_convolutions,
    lax_elementwise,
    lax_indexing,
    lax_matrices,
    lax_reductions,
    lax_shapes,
    nn,
    remaining,
    sampling,
    scipy_distributions,
    scipy_linalg,
    scipy_signal,
    scipy_special,
)

GROUPS: dict[str, Table] = {
    "lax_convolutions": lax_convolutions.TABLE,
    "lax_elementwise": lax_elementwise.TABLE,
    "lax_indexing": lax_indexing.TABLE,
    "lax_matrices": lax_matrices.TABLE,
    "lax_reductions": lax_reductions.TABLE,
    "lax_shapes": lax_shapes.TABLE,
    "nn": nn.TABLE,
    "remaining": remaining.TABLE,
    "sampling": sampling.TABLE,
    "scipy_distributions": scipy_distributions.TABLE,
    "scipy_linalg": scipy_linalg.TABLE,
    "scipy_signal": scipy_signal.TABLE,
    "scipy_special": scipy_special.TABLE,
}
"""Tables of uses. Values are tested table by table."""

TABLE: Table = merge(*GROUPS.values())
