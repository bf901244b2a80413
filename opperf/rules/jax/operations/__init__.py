"""The canonical operations of JAX's functions, by full name (`lax.add`)."""

from __future__ import annotations

from opperf.operations.uses import Table, merge
from opperf.rules.jax.operations import (
    scipy_distributions,
    scipy_linalg,
    scipy_signal,
    scipy_special,
)

GROUPS: dict[str, Table] = {
    "scipy_distributions": scipy_distributions.TABLE,
    "scipy_linalg": scipy_linalg.TABLE,
    "scipy_signal": scipy_signal.TABLE,
    "scipy_special": scipy_special.TABLE,
}
"""Tables of uses. Values are tested table by table."""

TABLE: Table = merge(*GROUPS.values())
