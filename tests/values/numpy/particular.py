"""Exceptions in the comparison of NumPy's functions."""

from __future__ import annotations

CONSTANT = frozenset(
    {
        *("isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf"),
        *("full", "full_like", "ones", "ones_like", "zeros", "zeros_like"),
    }
)
"""Functions whose results are one number everywhere, some because no array of a benchmark holds
the numbers they look for."""

VERSIONED = frozenset(
    {
        *("astype", "cumulative_prod", "cumulative_sum", "in1d", "linalg.cross"),
        *("linalg.diagonal", "linalg.matmul", "linalg.matrix_norm", "linalg.matrix_transpose"),
        *("linalg.outer", "linalg.tensordot", "linalg.trace", "linalg.vector_norm"),
        *("matrix_transpose", "trapezoid", "trapz"),
    }
)
"""Functions that only some versions of NumPy have. All other names are in all of them."""

ITSELF = frozenset(
    {
        *("add", "argsort", "astype", "bitwise_and", "bitwise_or", "divide", "einsum", "equal"),
        *("expand_dims", "greater", "greater_equal", "less", "less_equal", "matmul", "moveaxis"),
        *("multiply", "not_equal", "reshape", "rint", "rollaxis", "sort", "subtract", "swapaxes"),
        "transpose",
    }
)
"""Functions that are their operation's reference, some as a Python operator or a method."""

UNCOMPARED = ITSELF | {
    # With a condition alone it returns indices, which is another operation.
    "where"
}
"""Functions of the table that are not compared."""
