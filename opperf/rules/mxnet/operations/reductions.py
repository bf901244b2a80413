"""MXNet's operators that reduce, sort, search, count, or make tensors from nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import (
    Roles,
    Table,
    as_list,
    family,
    merge,
    only_written_to,
    use,
    written_to,
)


def along(
    axis: Any = None, keepdims: bool = False, data: Any = None, a: Any = None
) -> dict[str, Any]:
    """A tensor and its axes, an empty list of which means all of them."""
    return {
        "x": a if data is None else data,
        "axis": None if axis == () else axis,
        "keepdims": keepdims,
    }


def reduced(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """The axes in a list. All of them are an empty list for `mx.nd`, and no list for `mx.np`, where
    an empty one is none of them."""
    x: Roles = {operator.tensors[0].name: roles["x"]}
    if "axis" in roles:
        return {**x, "axis": as_list(roles["axis"])}
    return x if operator.name.startswith("_np") else {**x, "axis": ()}


BOTH = ("all", "any", "max", "min", "prod", "sum")
"""Reductions that MXNet 1 has as `_np_` and MXNet 2 as `_npi_`."""


def percentile(a: Any, axis: Any, q: Any = None, q_scalar: Any = None) -> dict[str, Any]:
    """A number or a list of them, of a hundred."""
    return {"x": a, "axis": axis, "share": (q_scalar if q is None else q) / 100}


def average(a: Any, weights: Any, weighted: bool, axis: Any = None) -> dict[str, Any]:
    """The weights, which every case gives."""
    assert weighted
    return {"x": a, "weights": weights, "axis": axis}


def with_weights(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The arguments for these roles; without weights it is `mean`."""
    if "weights" not in roles:
        return None
    axes: Roles = {"axis": as_list(roles["axis"])} if "axis" in roles else {}
    return {"a": roles["x"], "weights": roles["weights"], "weighted": True, **axes}


OF_NUMPY: Table = {
    **{f"_np_{name}": use(name, along, spell=reduced) for name in BOTH},
    **{f"_npi_{name}": use(name, along, spell=reduced) for name in (*BOTH, "mean", "std", "var")},
}

REDUCED = merge(
    {
        name: use(name, along, spell=reduced)
        for name in ("max", "mean", "min", "nanprod", "nansum", "prod", "sum")
    },
    OF_NUMPY,
    {
        "_np_trace": use("trace", "x=data"),
        "_npi_trace": use("trace", "x=data"),
        "_npi_average": use("average", average, spell=with_weights),
        "_npi_percentile": use("quantile", percentile),
        "_square_sum": use("sum_of_squares", along),
        "all_finite": use("all_finite", lambda data: {"tensors": [data]}),
        "cumsum": use("cumsum", "x=a axis"),
        "moments": use("moments", "x=data axis=axes"),
        "multi_all_finite": use("all_finite", "tensors=data -num_arrays"),
        "multi_sum_sq": use("sums_of_squares", "tensors=data -num_arrays"),
        "norm": use(
            "norm",
            lambda data, ord, axis: {"x": data, "order": ord, "axis": axis or None},
        ),
    },
)

SORTED: Table = {
    "_histogram": use("histogram", "x=data count=bin_cnt bounds=range edges=bins"),
    "_npi_argmax": use("argmax", "x=data axis"),
    "_npi_argmin": use("argmin", "x=data axis"),
    "_npi_bincount": use("bincount", "x=data least=minlength"),
    "_npi_unique": use("unique", "x=data"),
    "argmax": use("argmax", "x=data axis"),
    "argmax_channel": use("argmax", "x=data", axis=-1),
    "argmin": use("argmin", "x=data axis"),
    # Indices in float32, the default, are exact only up to 2**24.
    "argsort": use("argsort", "x=data axis -dtype", also={"dtype": "int32"}),
    "sort": use("sort", "x=data axis"),
    "topk": use("top_k", "x=data k axis gives=ret_typ -dtype"),
}


def ends(num: int, endpoint: bool, dtype: str, **given: Any) -> dict[str, Any]:
    """The two ends, which MXNet 2 has once for each type."""
    start, stop, *_ = given.values()
    return {"start": start, "stop": stop, "num": num, "endpoint": endpoint}


def one_number(
    shape: Any, dtype: str, value: float = 0.0, double_value: Any = None, **other: Any
) -> dict[str, Any]:
    """The number, which MXNet 2 has once for each type."""
    assert other.keys() <= {"int_value", "uint_value", "value_type"}
    return {"shape": shape, "value": float(value if double_value is None else double_value)}


def spaced(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """The arguments for these roles."""
    ends = {name: roles[name] for name in ("start", "stop")}
    if operator.parameter("start_double"):
        ends = {f"{end}_{kind}": at for kind in ENDS for end, at in ends.items()}
    return {**ends, "num": roles["num"], "endpoint": True}


ENDS = ("double", "int", "uint")


def identity(shape: tuple[int, ...], dtype: str) -> dict[str, Any]:
    """The extents of a matrix."""
    return dict(zip(("rows", "columns"), shape, strict=True))


def square_shape(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The arguments for these roles, of a square matrix alone."""
    return {"shape": as_list(roles["rows"]) * 2} if roles.keys() == {"rows"} else None


def square_triangle(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A square, whose extents the operator takes one by one."""
    return {"n": roles["rows"], "m": roles["rows"]}


def in_double(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """In double precision, the only one that the operator takes."""
    return {
        name: msgspec.structs.replace(spec, dtype="float64")
        for name, role in {"xp": "known", "fp": "values", "x": "x"}.items()
        if isinstance(spec := roles[role], TensorSpec)
    }


ARANGE = use("arange", "start stop step -dtype")
LINSPACE = use("linspace", ends, spell=spaced)
FULL = use("full", one_number)
EYE = use("eye", "rows=N columns=M offset=k -dtype")
ZEROS = use("full", "shape -dtype", value=0)
ONES = use("full", "shape -dtype", value=1)

CREATED: Table = {
    "_arange": ARANGE,
    "_eye": EYE,
    "_full": FULL,
    "_linspace": LINSPACE,
    "_npi_arange": ARANGE,
    "_npi_diff": use("difference", "x=a order=n axis"),
    "_npi_ediff1d": use("difference", "x=input1"),
    "_npi_eye": EYE,
    "_npi_full": FULL,
    "_npi_full_like": use("full_like", "x=a value=fill_value"),
    "_npi_identity": use("eye", identity, spell=square_shape),
    "_npi_indices": use("indices", "shape=dimensions -dtype"),
    "_npi_interp": use("interpolate", "x known=xp values=fp", spell=in_double),
    "_npi_linspace": LINSPACE,
    "_npi_logspace": use("logspace", "start stop num -dtype"),
    "_npi_ones": ONES,
    "_npi_tri": use("tri", "rows=N columns=M offset=k -dtype"),
    "_npi_tril_indices": use("tril_indices", "rows=n offset=k columns=m", spell=square_triangle),
    "_npi_zeros": ZEROS,
    "_ones": ONES,
    "_set_value": use("full_like", "x=out value=src", written_to("out")),
    "_zeros": ZEROS,
    "reset_arrays": use(
        "full_of_each", "tensors=data -num_arrays", only_written_to("data"), value=0
    ),
    **family(
        ("blackman", "hamming", "hanning"),
        "length=M -dtype",
        "_npi_{}",
        {
            "blackman": "blackman_window",
            "hamming": "hamming_window",
            "hanning": "hann_window",
        },
    ),
}

TABLE: Table = merge(REDUCED, SORTED, CREATED)
