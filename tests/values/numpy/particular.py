"""What is particular about some of NumPy's functions."""

from __future__ import annotations

CONSTANT = frozenset({"isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf"})
"""Functions that are to give one number everywhere: no array of a benchmark holds what they look
for, and no two are alike."""

ITSELF = frozenset(
    {
        *("add", "bitwise_and", "bitwise_or", "divide", "equal", "greater", "greater_equal"),
        *("less", "less_equal", "multiply", "not_equal", "rint", "subtract"),
    }
)
"""Functions that their operation's reference is, mostly as an operator of Python's."""
