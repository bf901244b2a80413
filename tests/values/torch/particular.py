"""Exceptions in the comparison of PyTorch's operators."""

from __future__ import annotations

CONSTANT: frozenset[str] = frozenset({"fill.Scalar", "fill.Tensor"})
"""Operators whose results are one number everywhere, by label."""
