"""PyTorch's operators that sort, search, count and find unique values."""

from __future__ import annotations

from typing import Any

import numpy as np

from opperf.model import Argument, Operator
from opperf.operations.uses import ANYTHING, Array, Roles, Table, ToOutput, Use, Values, merge, use


def sort_roles(
    self: Array, dim: int = -1, descending: bool = False, stable: bool | None = None
) -> dict[str, Any]:
    """A tensor, with the other sign if the greatest is to be first, and the axis."""
    return {"x": -self if descending else self, "axis": dim}


def with_order(made: Array, arguments: Values) -> tuple[Array, Array]:
    """Sorted elements, and the index of each."""
    roles = sort_roles(**arguments)
    order = np.argsort(roles["x"], axis=roles["axis"], kind="stable")
    return -made if arguments.get("descending") else made, order


def top_k_roles(
    self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> dict[str, Any]:
    """A tensor, with the other sign for the least elements, their number, and the axis."""
    return {"x": self if largest else -self, "k": k, "gives": "both", "axis": dim}


def best(made: Any, arguments: Values) -> Any:
    """The greatest or least elements, and the index of each."""
    values, places = made
    return (values, places) if arguments.get("largest", True) else (-values, places)


def top_k_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor, the number of elements, and the axis."""
    return {"self": roles["x"], "k": roles["k"], "dim": roles["axis"]}


def search_roles(
    sorted_sequence: Array,
    self: Any,
    right: bool = False,
    side: str | None = None,
    out_int32: bool = False,
) -> dict[str, Any]:
    """A rising sequence, values, and the side of equal elements."""
    chosen = side or ("right" if right else "left")
    return {"ordered": sorted_sequence, "values": np.asarray(self), "side": chosen}


def bucket_roles(
    self: Any, boundaries: Array, right: bool = False, out_int32: bool = False
) -> dict[str, Any]:
    """The boundaries of bins, values, and the side of equal boundaries."""
    return search_roles(boundaries, self, right)


def bucket_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Values, the boundaries of bins, and whether a bin includes its lower one."""
    return {
        "self": roles["values"],
        "boundaries": roles["ordered"],
        "right": roles["side"] == "right",
    }


def isin_roles(invert: bool = False, assume_unique: bool = False, **both: Any) -> dict[str, Any]:
    """Elements, and those that are looked for: either may be a number."""
    assert not invert
    x, y = both.values()
    return {"x": np.asarray(x), "y": np.asarray(y)}


def isin_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Elements, and those that are looked for."""
    return {"elements": roles["x"], "test_elements": roles["y"]}


RETURNED = {"inverse": "return_inverse", "counts": "return_counts"}
"""Arguments that ask for more than the unique elements, by role."""


def unique_roles(self: Array, dim: int | None = None, **returned: bool) -> dict[str, Any]:
    """A tensor, its axis if there is one, and which results are asked for beside the elements."""
    wanted = {role: returned.get(name, False) for role, name in RETURNED.items()}
    return {"x": self, **wanted} if dim is None else {"x": self, "axis": dim, **wanted}


def in_three(made: Any, arguments: Values) -> tuple[Any, ...]:
    """Unique elements, places and counts, of which those that were not asked for may be
    anything."""
    found, *others = made if isinstance(made, tuple) else (made,)
    rest = iter(others)
    return found, *(next(rest) if arguments.get(name) else ANYTHING for name in RETURNED.values())


def unique_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor, its axis, and which results are asked for beside the elements; None for one that
    the operator does not return, and for an axis or none where another operator is called."""
    needs_axis = operator.name.startswith("unique_dim")
    if "index" in roles or needs_axis is not ("axis" in roles):
        return None
    names = {"x": "self", "axis": "dim", **RETURNED}
    return {names[role]: value for role, value in roles.items()}


def unique(operation: str) -> Use:
    """The use of an operator that returns unique elements, places and counts."""
    return use(operation, unique_roles, in_three, unique_arguments)


def histogram_roles(self: Array, bins: Any, range: Any = None) -> dict[str, Any]:
    """A tensor, and the number of bins with the ends of all, or the edges of each."""
    if isinstance(bins, int):
        return {"x": self, "count": bins, "bounds": range}
    return {"x": self, "edges": bins}


def histogram(to_output: ToOutput | None = None) -> Use:
    """The use of a histogram of one tensor."""

    def arguments_of(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        by_edges = operator.overload == "bins_tensor"
        if by_edges is not ("edges" in roles):
            return None
        if by_edges:
            return {"self": roles["x"], "bins": roles["edges"]}
        ends: Roles = {"range": roles["bounds"]} if "bounds" in roles else {}
        return {"self": roles["x"], "bins": roles["count"], **ends}

    return use("histogram", histogram_roles, to_output, arguments_of)


def histc_roles(self: Array, bins: int, min: float = 0, max: float = 0) -> dict[str, Any]:
    """A tensor, the number of bins and their ends; from its least to its greatest element where the
    ends are equal."""
    return {"x": self, "count": bins, "bounds": None if min == max else (min, max)}


def histc_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor, the number of bins and their ends; None for the edges of each bin."""
    if "edges" in roles:
        return None
    bounds = roles.get("bounds")
    assert bounds is None or isinstance(bounds, tuple)
    ends: Roles = {} if bounds is None else dict(zip(("min", "max"), bounds, strict=True))
    return {"self": roles["x"], "bins": roles["count"], **ends}


def points_roles(self: Array, bins: Any, range: Any = None) -> dict[str, Any]:
    """Points, and the number of bins along each axis with their ends, or the edges of each."""
    if isinstance(bins, int):
        return {"x": self, "count": [bins] * self.shape[1], "bounds": range}
    if isinstance(bins[0], int):
        return {"x": self, "count": bins, "bounds": range}
    return {"x": self, "edges": bins}


def points_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """Points, and bins as the overload takes them: edges, a number for each axis, or one number."""
    by_edges = operator.overload == "TensorList_bins"
    if by_edges is not ("edges" in roles):
        return None
    if by_edges:
        return {"self": roles["x"], "bins": roles["edges"]}
    counts = roles["count"]
    assert isinstance(counts, tuple)
    bins: Any = counts[0] if operator.overload == "int_bins" else counts
    return {"self": roles["x"], "bins": bins, "range": roles["bounds"]}


def by_axis(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor and the axis."""
    return {"self": roles["x"], "dim": roles["axis"]}


SORTED: Table = {
    "argsort": use("argsort", sort_roles, to_arguments=by_axis),
    "argsort.stable": use("argsort", sort_roles, to_arguments=by_axis, also={"stable": True}),
    "kthvalue": use("kth_smallest", "x=self k axis=dim"),
    "msort": use("sort", "x=self", axis=0),
    "sort": use("sort", sort_roles, with_order, by_axis),
    "sort.stable": use("sort", sort_roles, with_order, by_axis, {"stable": True}),
    "topk": use("top_k", top_k_roles, best, top_k_arguments),
}


SEARCHED: Table = {
    "bincount": use("bincount", "x=self least=minlength weights"),
    "bucketize": use("searchsorted", bucket_roles, to_arguments=bucket_arguments),
    "histc": use("histogram", histc_roles, lambda made, arguments: made[0], histc_arguments),
    "histogram": histogram(),
    "histogramdd": use("histogram_of_points", points_roles, to_arguments=points_arguments),
    "isin": use("isin", isin_roles, to_arguments=isin_arguments),
    "searchsorted": use(
        "searchsorted",
        search_roles,
        to_arguments=lambda _, roles: {
            "sorted_sequence": roles["ordered"],
            "self": roles["values"],
            "side": roles["side"],
        },
    ),
    "unique_consecutive": unique("unique_runs"),
    "unique_dim": unique("unique_slices"),
    "unique_dim_consecutive": unique("unique_runs"),
}

TABLE: Table = merge(SORTED, SEARCHED)
