"""PyTorch's copies and conversions of tensors."""

from __future__ import annotations

from opperf.operations.uses import Table, merge, use, uses

COPIES = (
    *("clone", "contiguous", "lift", "lift_fresh", "lift_fresh_copy", "resolve_conj"),
    *("resolve_neg", "to_dense", "to_mkldnn"),
)
"""Operators whose results have the elements of their tensor, in whatever order or layout."""

OPTIONS = "-memory_format -dtype -layout -device -pin_memory -non_blocking -copy -masked_grad"

TABLE: Table = merge(
    uses(COPIES, f"x=self {OPTIONS}", other=dict.fromkeys(COPIES, "identity")),
    {
        "copy": use("broadcast_like", "x=src like=self -non_blocking"),
        "to": use("identity", f"x=self -other {OPTIONS}"),
        "type_as": use("identity", "x=self -other"),
    },
)
