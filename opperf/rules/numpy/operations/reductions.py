"""NumPy's functions that reduce, search, count, or make arrays from nothing."""

from __future__ import annotations

from typing import Any

from opperf.model import Operator
from opperf.operations.uses import Array, Choice, Table, merge, use, uses


def percentile_roles(a: Array, q: Array, axis: int | None = None) -> dict[str, Any]:
    """An array, the axis, and shares from percentages."""
    return {"x": a, "share": q / 100, "axis": axis}


def cumulative_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any] | None:
    """An array and the axis; None without an axis, as these functions do not flatten arrays."""
    return roles if "axis" in roles else None


NORM = use("norm", "x order=ord axis")

REDUCED: Table = merge(
    uses(
        (
            *("all", "any", "argmax", "argmin", "average", "count_nonzero", "cumprod", "cumsum"),
            *("max", "mean", "median", "min", "nanprod", "nansum", "prod", "ptp", "std", "sum"),
            "var",
        ),
        "x=a axis weights",
    ),
    {
        "linalg.norm": Choice(
            "ord",
            {
                None: use("norm", "x", order=2),
                "nuc": use("nuclear_norm", "x -ord"),
                1: NORM,
                2: NORM,
            },
        ),
        "linalg.vector_norm": Choice("ord", {None: use("norm", "x", order=2), 1: NORM}),
        "cumulative_prod": use("cumprod", "x axis", to_arguments=cumulative_arguments),
        "cumulative_sum": use("cumsum", "x axis", to_arguments=cumulative_arguments),
        "linalg.matrix_norm": Choice(
            "ord",
            {"fro": use("norm", "x -ord", order=2), "nuc": use("nuclear_norm", "x -ord")},
        ),
        "percentile": use("quantile", percentile_roles),
        "quantile": use("quantile", "x=a share=q axis"),
        "trace": use("trace", "x=a"),
    },
)

SEARCHED: Table = {
    "argsort": use("argsort", "x=a axis -kind"),
    "bincount": use("bincount", "x least=minlength"),
    "digitize": use("searchsorted", "values=x ordered=bins", side="right"),
    "in1d": use("isin", "x=ar1 y=ar2"),
    "intersect1d": use("set_intersection", "x=ar1 y=ar2"),
    "isin": use("isin", "x=element y=test_elements"),
    "searchsorted": use("searchsorted", "ordered=a values=v side"),
    "setdiff1d": use("set_difference", "x=ar1 y=ar2"),
    "setxor1d": use("set_exclusive_or", "x=ar1 y=ar2"),
    "sort": use("sort", "x=a axis -kind"),
    "union1d": use("set_union", "x=ar1 y=ar2"),
    "unique": use("unique", "x=ar index=return_index inverse=return_inverse counts=return_counts"),
}

CREATED: Table = {
    "arange": use("arange", "start stop step -dtype"),
    "bartlett": use("bartlett_window", "length=M"),
    "blackman": use("blackman_window", "length=M"),
    "diff": use("difference", "x=a order=n axis"),
    "ediff1d": use("difference", "x=ary"),
    "eye": use("eye", "rows=N columns=M offset=k -dtype"),
    "full_like": use("full_like", "x=a value=fill_value"),
    "hamming": use("hamming_window", "length=M"),
    "hanning": use("hann_window", "length=M"),
    "identity": use("eye", "rows=n -dtype"),
    "indices": use("indices", "shape=dimensions -dtype"),
    "interp": use("interpolate", "x known=xp values=fp"),
    "kaiser": use("kaiser_window", "length=M beta"),
    "linspace": use("linspace", "start stop num -dtype"),
    "logspace": use("logspace", "start stop num -dtype"),
    "tri": use("tri", "rows=N -dtype"),
    "tril_indices": use("tril_indices", "rows=n"),
    "vander": use("vandermonde", "x columns=N"),
}
