"""Exceptions in the comparison of PyTorch's operators."""

from __future__ import annotations

CONSTANT: frozenset[str] = frozenset(
    {
        *("fill.Scalar", "fill.Tensor", "full", "full_like", "new_full", "new_ones", "new_zeros"),
        *("ones", "ones_like", "zero", "zeros", "zeros_like"),
    }
)
"""Operators whose results are one number everywhere, by label."""
