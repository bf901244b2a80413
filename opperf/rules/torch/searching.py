"""Families of PyTorch's operators that sort, search and find unique values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opperf.model import Argument, Fill, Operator
from opperf.operations.uses import ANYTHING, Array, Roles, Table, ToOutput, Use, Values, merge, use
from opperf.rules.bert import WORDS
from opperf.rules.families.sorting import EXPERTS, fewer
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import line, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import SEQUENCE, Arguments, below, between, call, fixed, tensor, transposed
from opperf.rules.variants import Variants, add_rows


def _sort_roles(
    self: Array, dim: int = -1, descending: bool = False, stable: bool | None = None
) -> dict[str, Any]:
    return {"x": -self if descending else self, "axis": dim}


def _with_order(made: Array, arguments: Values) -> tuple[Array, Array]:
    roles = _sort_roles(**arguments)
    order = np.argsort(roles["x"], axis=roles["axis"], kind="stable")
    return -made if arguments.get("descending") else made, order


def _best(made: Any, arguments: Values) -> Any:
    values, places = made
    return (values, places) if arguments.get("largest", True) else (-values, places)


def _search(
    sorted_sequence: Array,
    self: Any,
    right: bool = False,
    side: str | None = None,
    out_int32: bool = False,
) -> dict[str, Any]:
    chosen = side or ("right" if right else "left")
    return {"ordered": sorted_sequence, "values": np.asarray(self), "side": chosen}


def _isin_roles(invert: bool = False, assume_unique: bool = False, **both: Any) -> dict[str, Any]:
    assert not invert
    x, y = both.values()
    return {"x": np.asarray(x), "y": np.asarray(y)}


RETURNED = {"inverse": "return_inverse", "counts": "return_counts"}
"""Arguments that ask for more than the unique elements, by role."""


def _unique_roles(self: Array, dim: int | None = None, **returned: bool) -> dict[str, Any]:
    wanted = {role: returned.get(name, False) for role, name in RETURNED.items()}
    return {"x": self, **wanted} if dim is None else {"x": self, "axis": dim, **wanted}


def in_three(made: Any, arguments: Values) -> tuple[Any, ...]:
    """Unique elements, places and counts; those that were not asked for may be anything."""
    found, *others = made if isinstance(made, tuple) else (made,)
    rest = iter(others)
    return found, *(next(rest) if arguments.get(name) else ANYTHING for name in RETURNED.values())


def unique_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor, its axis, what is asked for; None for what the operator does not return or take."""
    if "index" in roles or operator.name.startswith("unique_dim") is not ("axis" in roles):
        return None
    names = {"x": "self", "axis": "dim", **RETURNED}
    return {names[role]: value for role, value in roles.items()}


def runs_of(operation: str) -> Use:
    """The use of an operator that returns unique elements, places and counts."""
    return use(operation, _unique_roles, in_three, unique_arguments)


def _histogram_roles(self: Array, bins: Any, range: Any = None) -> dict[str, Any]:
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

    return use("histogram", _histogram_roles, to_output, arguments_of)


def _histc_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    if "edges" in roles:
        return None
    bounds = roles.get("bounds")
    assert bounds is None or isinstance(bounds, tuple)
    ends: Roles = {} if bounds is None else dict(zip(("min", "max"), bounds, strict=True))
    return {"self": roles["x"], "bins": roles["count"], **ends}


def _points_roles(self: Array, bins: Any, range: Any = None) -> dict[str, Any]:
    counts = [bins] * self.shape[1] if isinstance(bins, int) else bins
    if isinstance(counts[0], int):
        return {"x": self, "count": counts, "bounds": range}
    return {"x": self, "edges": bins}


def _points_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    by_edges = operator.overload == "TensorList_bins"
    if by_edges is not ("edges" in roles):
        return None
    if by_edges:
        return {"self": roles["x"], "bins": roles["edges"]}
    counts: Any = roles["count"]
    bins = counts[0] if operator.overload == "int_bins" else counts
    return {"self": roles["x"], "bins": bins, "range": roles["bounds"]}


SORTED: Table = {
    **{
        f"{name}{end}": use(name, _sort_roles, order, "x=self axis=dim", also)
        for name, order in (("argsort", None), ("sort", _with_order))
        for end, also in (("", None), (".stable", {"stable": True}))
    },
    "kthvalue": use("kth_smallest", "x=self k axis=dim"),
    "msort": use("sort", "x=self", axis=0),
    "topk": use(
        "top_k",
        lambda self, k, dim=-1, largest=True, sorted=True: {
            "x": self if largest else -self,
            "k": k,
            "gives": "both",
            "axis": dim,
        },
        _best,
        lambda operator, roles: {"self": roles["x"], "k": roles["k"], "dim": roles["axis"]},
    ),
}


SEARCHED: Table = {
    "bincount": use("bincount", "x=self least=minlength weights"),
    "bucketize": use(
        "searchsorted",
        lambda self, boundaries, right=False, out_int32=False: _search(boundaries, self, right),
        to_arguments=lambda operator, roles: {
            "self": roles["values"],
            "boundaries": roles["ordered"],
            "right": roles["side"] == "right",
        },
    ),
    "histc": use(
        "histogram",
        lambda self, bins, min=0, max=0: {
            "x": self,
            "count": bins,
            "bounds": None if min == max else (min, max),
        },
        lambda made, arguments: made[0],
        _histc_arguments,
    ),
    "histogram": histogram(),
    "histogramdd": use("histogram_of_points", _points_roles, to_arguments=_points_arguments),
    "isin": use("isin", _isin_roles, to_arguments="x=elements y=test_elements"),
    "searchsorted": use("searchsorted", _search, None, "ordered=sorted_sequence values=self side"),
    **dict.fromkeys(("unique_consecutive", "unique_dim_consecutive"), runs_of("unique_runs")),
    "unique_dim": runs_of("unique_slices"),
}

OPERATIONS: Table = merge(SORTED, SEARCHED)


FAMILIES = Families()

PERMUTATION = Fill("permutation")
"""Numbers that are all different, so that their order is the only one."""

VARIANTS: Mapping[str, Variants] = {
    "bucketize.Scalar": lambda size: {
        "the bin of one number, such as a schedule's step: a call's overhead": call(
            self=line(size)[0] // 3, boundaries=fixed(*line(size), fill=SEQUENCE)
        )
    },
    "searchsorted.Scalar": lambda size: {
        "the index of one number, for a draw from a distribution: a call's overhead": call(
            sorted_sequence=fixed(*line(size), fill=SEQUENCE), self=line(size)[0] // 3
        )
    },
    "isin.Scalar_Tensor": lambda size: {
        "whether a list has a number, as the end of a sentence: it does not": call(
            element=1, test_elements=fixed(*vector(size), fill=below(line(size)[0], start=2))
        )
    },
    "isin.Tensor_Scalar": lambda size: {
        "padding among tokens": call(elements=fixed(*vector(size), fill=below(4)), test_element=1)
    },
}
"""Operators of which an argument is a number."""


add_rows(FAMILIES.add, VARIANTS, replaces="one of its tensors is a number")


@FAMILIES.also("sort.default", "argsort.default", "sort.stable", "argsort.stable")
def descending(operator: Operator, size: Preset) -> Rows:
    """Rows in descending order, and transposed ones."""
    make = tensor if operator.name == "sort" else fixed
    stable: Arguments = {"stable": True} if operator.overload == "stable" else {}
    likeliest = make(size.images, size.extent(WORDS), fill=PERMUTATION)
    return {
        "likeliest words first: long rows": call(self=likeliest, dim=-1, descending=True, **stable),
        "rows of x.T: copied first": call(self=transposed(make(*fewer(size))), dim=-1, **stable),
    }


def pieces(size: Preset, **asked: bool) -> Arguments:
    """Numbers that recur, as word pieces."""
    return call(self=fixed(*vector(size), fill=below(size.extent(30522)), dtype="int64"), **asked)


OWN: dict[str, Variants] = {
    "_unique2 _unique": lambda size: {
        "word pieces of a batch, each once: sorted": pieces(size),
        "word pieces of a batch, each once, and their places": pieces(size, return_inverse=True),
    }
}
add_rows(FAMILIES.add, OWN)


FURTHER: dict[str, Variants] = {
    "sort.stable argsort.stable": lambda size: {
        "few numbers that recur, as tokens by their expert in a mixture": call(
            self=fixed(*vector(size), fill=below(EXPERTS), dtype="int64"), stable=True
        )
    },
    "searchsorted.Tensor": lambda size: {
        "samples along each ray by its own density, as NeRF's fine network: a row for each": call(
            sorted_sequence=fixed(rays := size.extent(4096), 64, fill=Fill("sequence", 0.0, 64.0)),
            self=fixed(rays, 128, fill=between(0, 64)),
            right=True,
        )
    },
    "topk.default": lambda size: {
        "the 20 nearest of each point, in DGCNN's graph: the smallest distances": call(
            self=tensor(size.extent(1024), size.extent(1024, least=32)), k=20, dim=-1, largest=False
        )
    },
    "unique_consecutive.default": lambda size: {
        "sorted numbers without a repeat, such as edges: nothing is removed": call(
            self=fixed(*vector(size), fill=SEQUENCE, dtype="int64"), return_counts=True
        )
    },
}
add_rows(FAMILIES.also, FURTHER)
