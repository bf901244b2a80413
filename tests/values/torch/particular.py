"""Exceptions in the comparison of PyTorch's operators."""

from __future__ import annotations

CONSTANT: frozenset[str] = frozenset(
    {
        *("fill.Scalar", "fill.Tensor", "full", "full_like", "new_full", "new_ones", "new_zeros"),
        *("ones", "ones_like", "zero", "zeros", "zeros_like"),
        *("isclose", "isfinite", "isinf", "isneginf", "isposinf", "isreal"),
        # Of recorded inputs, some compare random numbers, and some expand one number.
        *("div.Scalar", "eq.Scalar", "eq.Tensor", "ne.Scalar"),
    }
)
"""Operators whose results are one number everywhere, by label; most look for numbers that no tensor
of a benchmark holds."""
