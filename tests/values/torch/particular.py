"""Exceptions in the comparison of PyTorch's operators."""

from __future__ import annotations

CONSTANT: frozenset[str] = frozenset(
    {"isclose", "isfinite", "isinf", "isneginf", "isposinf", "isreal"}
)
"""Operators whose results are one number everywhere, by label, as no tensor of a benchmark holds
the numbers they look for."""
