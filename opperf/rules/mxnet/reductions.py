"""Operators that reduce a tensor along axes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import (
    Roles,
    Table,
    as_list,
    merge,
    only_if,
    only_written_to,
    use,
    uses,
    written_to,
)
from opperf.rules.bert import few_sentences, heads
from opperf.rules.configurations import WHY
from opperf.rules.families.reductions import percentages
from opperf.rules.mxnet.indexing import of_classes
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.mxnet.sparse import OWN, differentiated, rows
from opperf.rules.registering import Families
from opperf.rules.shapes import square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import AT_LEAST_SINGLE, Arguments, fixed, tensor
from opperf.rules.variants import Variants, add_rows


def reduction_roles(
    axis: Any = None, keepdims: bool = False, data: Any = None, a: Any = None
) -> dict[str, Any]:
    """A tensor and the axes it is reduced along; an empty list means all axes."""
    x = a if data is None else data
    return {"x": x, "axis": None if axis == () else axis, "keepdims": keepdims}


def reduction_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor and a list of axes. Of all it is empty in `mx.nd`; in `mx.np` that means no axis."""
    x: Roles = {operator.tensors[0].name: roles["x"]}
    if "axis" in roles:
        return {**x, "axis": as_list(roles["axis"])}
    return x if operator.name.startswith("_np") else {**x, "axis": ()}


def moments_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor and a list of axes, which is not empty for all of them."""
    x = roles["x"]
    assert isinstance(x, TensorSpec)
    return {"data": x, "axes": as_list(roles.get("axis", tuple(range(len(x.shape)))))}


BOTH = ("all", "any", "max", "min", "prod", "sum")
"""Reductions that MXNet 1 has as `_np_` and MXNet 2 as `_npi_`."""


def percentile_roles(
    a: Any, axis: Any = None, q: Any = None, q_scalar: Any = None
) -> dict[str, Any]:
    """A tensor, the axis, and shares from percentages: a number or a tensor of them."""
    return {"x": a, "axis": axis, "share": (q_scalar if q is None else q) / 100}


def percentile_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor, percentages from shares, one or a tensor of them, and the axes."""
    share = roles["share"]
    name = "q" if isinstance(share, TensorSpec) else "q_scalar"
    axes: Roles = {"axis": as_list(roles["axis"])} if "axis" in roles else {}
    shares = percentages(share)
    if isinstance(shares, TensorSpec):
        # MXNet dies of those in half precision.
        shares = msgspec.structs.replace(shares, dtype=AT_LEAST_SINGLE)
    return {"a": roles["x"], name: shares, **axes}


def average_roles(a: Any, weights: Any, weighted: bool, axis: Any = None) -> dict[str, Any]:
    """A tensor, its weights, which every case has, and the axis."""
    assert weighted
    return {"x": a, "weights": weights, "axis": axis}


def average_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor, its weights and the axes; None without weights, as that is `mean`."""
    if "weights" not in roles:
        return None
    axes: Roles = {"axis": as_list(roles["axis"])} if "axis" in roles else {}
    return {"a": roles["x"], "weights": roles["weights"], "weighted": True, **axes}


def norm_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor, the order of the norm, and the axes."""
    axes: Roles = {"axis": as_list(roles["axis"])} if "axis" in roles else {}
    return {"data": roles["x"], "ord": roles.get("order", 2), **axes}


def reductions(names: Iterable[str], pattern: str = "{}") -> Table:
    """The uses of operators that reduce along axes."""
    return {
        pattern.format(name): use(name, reduction_roles, to_arguments=reduction_arguments)
        for name in names
    }


REDUCED = merge(
    reductions(("max", "mean", "min", "nanprod", "nansum", "prod", "sum")),
    reductions(BOTH, "_np_{}"),
    reductions((*BOTH, "mean", "std", "var"), "_npi_{}"),
    {
        "_np_trace": use("trace", "x=data"),
        "_npi_trace": use("trace", "x=data"),
        "_npi_average": use("average", average_roles, to_arguments=average_arguments),
        "_npi_percentile": use("quantile", percentile_roles, to_arguments=percentile_arguments),
        "_square_sum": use("sum_of_squares", reduction_roles),
        "all_finite": use("all_finite", lambda data: {"tensors": [data]}),
        "cumsum": use("cumsum", "x=a axis"),
        "moments": use("moments", "x=data axis=axes", to_arguments=moments_arguments),
        "multi_all_finite": use("all_finite", "tensors=data -num_arrays"),
        "multi_sum_sq": use("sums_of_squares", "tensors=data -num_arrays"),
        "norm": use(
            "norm",
            lambda data, ord=2, axis=None: {"x": data, "order": ord, "axis": axis or None},
            to_arguments=norm_arguments,
        ),
    },
)

UNIQUE = use("unique", "x=data index=return_index inverse=return_inverse counts=return_counts")

SORTED: Table = {
    "_histogram": only_if(
        use("histogram", "x=data count=bin_cnt bounds=range edges=bins"),
        lambda roles: "edges" in roles or "bounds" in roles,
    ),
    "_npi_argmax": use("argmax", "x=data axis"),
    "_npi_argmin": use("argmin", "x=data axis"),
    "_npi_bincount": use("bincount", "x=data least=minlength"),
    "_npi_unique": UNIQUE,
    "argmax": use("argmax", "x=data axis"),
    "argmax_channel": use("argmax", "x=data", axis=-1),
    "argmin": use("argmin", "x=data axis"),
    # Indices in float32, the default, are exact only up to 2**24.
    "argsort": use("argsort", "x=data axis -dtype", also={"dtype": "int32"}),
    "sort": use("sort", "x=data axis"),
    "topk": use("top_k", "x=data k axis gives=ret_typ -dtype"),
}


def linspace_roles(num: int, endpoint: bool, dtype: str, **ends: Any) -> dict[str, Any]:
    """Count and ends. MXNet 2 takes each end in several types, which are equal here."""
    start, stop, *_ = ends.values()
    return {"start": start, "stop": stop, "num": num, "endpoint": endpoint}


def full_roles(
    shape: Any, dtype: str, value: float = 0.0, double_value: Any = None, **other: Any
) -> dict[str, Any]:
    """A shape and the value. MXNet 2 takes the value in several types."""
    assert other.keys() <= {"int_value", "uint_value", "value_type"}
    return {"shape": shape, "value": float(value if double_value is None else double_value)}


def full_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A shape and a value, in MXNet 2 in three types: floating point is 2."""
    typed: Roles = {"double_value": FACTOR, "int_value": 0, "uint_value": 0, "value_type": 2}
    return {**roles, **(typed if operator.parameter("double_value") else {"value": FACTOR})}


def linspace_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Count and ends; each end in every type, where the operator has several."""
    ends = {name: roles[name] for name in ("start", "stop")}
    if operator.parameter("start_double"):
        ends = {f"{end}_{kind}": at for kind in ENDS for end, at in ends.items()}
    return {**ends, "num": roles["num"], "endpoint": True}


ENDS = ("double", "int", "uint")
"""Types in which MXNet 2 takes the ends of `linspace`, as its arguments' names have them."""


def identity_roles(shape: tuple[int, ...], dtype: str) -> dict[str, Any]:
    """Rows and columns, from a shape."""
    return dict(zip(("rows", "columns"), shape, strict=True))


def identity_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The shape of a square matrix; None for any other."""
    return {"shape": as_list(roles["rows"]) * 2} if roles.keys() == {"rows"} else None


def interp_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Known points and `x`, in double precision, the only dtype that the operator takes."""
    return {
        name: msgspec.structs.replace(spec, dtype="float64")
        for name, role in {"xp": "known", "fp": "values", "x": "x"}.items()
        if isinstance(spec := roles[role], TensorSpec)
    }


ARANGE = use("arange", "start stop step -dtype")
LINSPACE = use("linspace", linspace_roles, to_arguments=linspace_arguments)
FULL = use("full", full_roles, to_arguments=full_arguments)
EYE = use("eye", "rows=N columns=M offset=k -dtype")
ZEROS = use("full", "shape -dtype -out", value=0)
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
    "_npi_identity": use("eye", identity_roles, to_arguments=identity_arguments),
    "_npi_indices": use("indices", "shape=dimensions -dtype", also={"dtype": "int32"}),
    "_npi_interp": use("interpolate", "x known=xp values=fp", to_arguments=interp_arguments),
    "_npi_linspace": LINSPACE,
    "_npi_logspace": use("logspace", "start stop num -dtype"),
    "_npi_ones": ONES,
    "_npi_tri": use("tri", "rows=N columns=M offset=k -dtype"),
    "_npi_tril_indices": use(
        "tril_indices",
        "rows=n offset=k columns=m",
        to_arguments=lambda operator, roles: {"n": roles["rows"], "m": roles["rows"]},
    ),
    "_npi_zeros": ZEROS,
    "_ones": ONES,
    "_set_value": use("full_like", "x=out value=src", written_to("out")),
    "_zeros": ZEROS,
    "reset_arrays": use(
        "full_of_each", "tensors=data -num_arrays", only_written_to("data"), value=0
    ),
    **uses(
        ("blackman", "hamming", "hanning"),
        "length=M -dtype",
        "_npi_{}",
        {"blackman": "blackman_window", "hamming": "hamming_window", "hanning": "hann_window"},
    ),
}

OPERATIONS: Table = merge(REDUCED, SORTED, CREATED)

FAMILIES = Families()


@FAMILIES.add("norm")
def norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Beside the norms of all frameworks: of columns, and along axes of three and of four."""
    for shape, axis, why in (
        (square(size), 0, "Euclidean norms of columns, as weight normalisation of each unit"),
        (heads(size), 3, "Euclidean norms of each head's vectors, as queries are normalised"),
        (few_sentences(size), 1, "Euclidean norms of each feature over a sentence's tokens"),
    ):
        yield {"data": tensor(*shape), "ord": 2, "axis": (axis,), WHY: why}


INDEX = "int32"
"""Dtype of the output's indices: float16, which may be requested, is exact up to 2048 only."""

FORMS = {
    "indices": "the places of each row's best scores, as the items to recommend",
    "value": "the values of each row's best scores, the last one the threshold of top-k sampling",
    "both": "the places and values of each row's best scores, from which beam search continues",
    "mask": "ones where each row's best scores are, as a mixture of experts is gated",
}
"""Why a few elements of each row are found, by the form of the output."""


def best(size: Preset) -> Iterable[Arguments]:
    """A matrix, for a few elements of each row in every form, and one along the first axis."""
    for form, why in FORMS.items():
        few: Arguments = {"k": size.extent(10, least=2), "ret_typ": form, "dtype": INDEX}
        yield {"data": tensor(*square(size)), **few, WHY: why}
    why = "the best of each long column, as the strongest response to each feature"
    column: Arguments = {"k": 1, "axis": 0, "ret_typ": "value", "dtype": INDEX}
    yield {"data": tensor(*tall(size)), **column, WHY: why}


TOP_K: dict[str, Variants] = {"topk": best}
add_rows(FAMILIES.add, TOP_K, replaces="the form of its output decides the work")


@FAMILIES.add("argmax_channel", replaces="its axis is always that of the channels")
def argmax_channel(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores, for the class with the highest one in each row."""
    for shape, classes in of_classes(size):
        yield {"data": fixed(*shape), WHY: f"the class of each sample, of {classes}"}


VARIANTS: dict[str, Variants] = {
    "_square_sum": lambda size: [
        {"data": differentiated(rows(size), OWN), "axis": (axis,), "keepdims": axis == 1, WHY: why}
        for axis, why in (
            (0, "squares summed in each column of an embedding's gradient, whose rows are few"),
            (1, "squares summed in each row of an embedding's gradient, as GroupAdaGrad does"),
        )
    ]
}
add_rows(FAMILIES.add, VARIANTS)
