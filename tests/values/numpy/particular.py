"""What is particular about some of NumPy's functions."""

from __future__ import annotations

CONSTANT = frozenset({"isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf"})
"""Functions that are to give one number everywhere: no array of a benchmark holds what they look
for, and no two are alike."""

ITSELF = frozenset(
    {
        *("add", "argsort", "bitwise_and", "bitwise_or", "divide", "einsum", "equal"),
        *("expand_dims", "greater", "greater_equal", "less", "less_equal", "matmul", "moveaxis"),
        *("multiply", "not_equal", "reshape", "rint", "rollaxis", "sort", "subtract", "swapaxes"),
        "transpose",
    }
)
"""Functions that their operation's reference is, some as an operator of Python's or a method."""

UNCOMPARED = ITSELF | {
    # A condition alone asks for something else, the indices of where it holds.
    "where"
}
"""Functions of the table that are not compared."""
