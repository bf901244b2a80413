"""Functions that reduce an array along axes, or accumulate along one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from opperf.model import Argument, Operator
from opperf.operations.uses import Choice, Roles, Table, Use, Values, merge, only_if, use, uses
from opperf.rules.bert import few_sentences
from opperf.rules.configurations import TAGS, TINY, WHY
from opperf.rules.domains import DECIDED_BY_ONE, reduction_fill
from opperf.rules.families.reductions import (
    along_axis,
    along_one,
    percentages,
    reduced_axes,
    reduced_shapes,
    whys_of,
)
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import MOSTLY_DISPATCH, line, square
from opperf.rules.sizes import Preset
from opperf.rules.values import PADDED, REQUESTED, Arguments, between, call, fixed
from opperf.rules.variants import Row, Variants, add_rows


def cumulative_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any] | None:
    """An array and the axis; None without an axis, as these functions do not flatten arrays."""
    return roles if "axis" in roles else None


def percentile_roles(a: Any, q: Any, axis: Any = None) -> dict[str, Any]:
    """An array, shares from percentages, and the axes."""
    return {"x": a, "share": q / 100, "axis": axis}


def percentile_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """An array, percentages from shares, and the axis if there is one."""
    axis = along_axis(roles.get("axis"))  # type: ignore[arg-type]
    return {"a": roles["x"], "q": percentages(roles["share"]), **axis}


def histogram_roles(a: Any, bins: Any, range: Any = None) -> dict[str, Any]:
    """An array, and a number of bins or their edges."""
    return {
        "x": a,
        **({"count": bins, "bounds": range} if isinstance(bins, int) else {"edges": bins}),
    }


def histogram_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """An array, its bins by number or edges, and both ends if they are given."""
    ends: Roles = {"range": roles["bounds"]} if "bounds" in roles else {}
    return {"a": roles["x"], "bins": roles.get("edges", roles.get("count")), **ends}


def points_roles(sample: Any, bins: Any, range: Any = None) -> dict[str, Any]:
    """Points, and the numbers of boxes along each axis or their edges."""
    if range is None:
        return {"x": sample, "edges": bins}
    return {"x": sample, "count": bins, "bounds": [end for ends in range for end in ends]}


def points_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Points, boxes by number or edges, and both ends of each axis if they are given."""
    if "edges" in roles:
        return {"sample": roles["x"], "bins": roles["edges"]}
    ends: Any = roles["bounds"]
    pairs = tuple(zip(ends[::2], ends[1::2], strict=True))
    return {"sample": roles["x"], "bins": roles["count"], "range": pairs}


NORM, LENGTH = use("norm", "x order=ord axis"), use("norm", "x -ord", order=2)


def of_order(order: int) -> Use:
    """The use of norms of one order."""
    return only_if(NORM, lambda roles: roles.get("order") == order)


OF_ORDER = {order: of_order(order) for order in (1, 2)}
NUCLEAR = use("nuclear_norm", "x -ord")

OF_TOKENS: dict[str, Roles] = {
    "all": {WHY: "features that every token of a sentence has, padding omitted by `where`"},
    "any": {WHY: "features that some token of a sentence has, padding omitted by `where`"},
    "max": {"initial": 0, WHY: "the strongest response in each sentence without its padding"},
    "mean": {WHY: "a sentence's mean without its padding, as its embedding is pooled"},
    "min": {"initial": 100, WHY: "the weakest response in each sentence without its padding"},
    "prod": {WHY: "each sentence's gates multiplied, without those of its padding"},
    "std": {WHY: "deviations in each sentence without its padding, as statistics are pooled"},
    "sum": {WHY: "a sentence's sum without its padding, as a bag of words"},
    "var": {WHY: "variances in each sentence without its padding, to standardise its features"},
}
"""Reductions with a mask: why tokens are reduced, and the result of none, if it is needed."""


def with_mask(entry: Use) -> Use:
    """Returns the use of a reduction, which with a mask is of each sentence's own tokens."""

    def apply(function: Any, arguments: Values) -> Any:
        if "where" not in arguments:
            return entry.apply(function, arguments)
        import numpy as np

        made = []
        for rows, there in zip(arguments["a"], arguments["where"], strict=True):
            of_none = np.full((1, rows.shape[1]), arguments.get("initial"), float)
            own = [rows[there[:, 0]], *([of_none] if "initial" in arguments else [])]
            made.append(function(x=np.concatenate(own), axis=0))
        return np.stack(made)

    return replace(entry, apply=apply)


X = "x=a axis weights keepdims -where -initial"

REDUCED: Table = merge(
    uses(
        (
            *("argmax", "argmin", "average", "count_nonzero", "cumprod", "cumsum", "median"),
            *("nanprod", "nansum", "ptp"),
        ),
        X,
    ),
    {name: with_mask(use(name, X)) for name in OF_TOKENS},
    {
        "linalg.norm": Choice("ord", {None: LENGTH, "nuc": NUCLEAR, **OF_ORDER}),
        "linalg.vector_norm": Choice("ord", {None: LENGTH, 1: OF_ORDER[1]}),
        "cumulative_prod": use("cumprod", "x axis", to_arguments=cumulative_arguments),
        "cumulative_sum": use("cumsum", "x axis", to_arguments=cumulative_arguments),
        "linalg.matrix_norm": Choice("ord", {"fro": LENGTH, "nuc": NUCLEAR}),
        **{
            f"{start}percentile": use(
                f"{start}quantile", percentile_roles, to_arguments=percentile_arguments
            )
            for start in ("", "nan")
        },
        **uses(("nanquantile", "quantile"), "x=a share=q axis"),
        **uses(("trapezoid", "trapz"), "y x spacing=dx axis", other={"trapz": "trapezoid"}),
        "trace": use("trace", "x=a"),
    },
)

FOUND = "x=ar inverse=return_inverse counts=return_counts"
"""The array, and what `unique` returns on request."""

SEARCHED: Table = {
    "argsort": use("argsort", "x=a axis -kind"),
    "bincount": use("bincount", "x least=minlength weights"),
    "digitize": use("searchsorted", "values=x ordered=bins", side="right"),
    "histogram": use("histogram", histogram_roles, to_arguments=histogram_arguments),
    "histogramdd": use("histogram_of_points", points_roles, to_arguments=points_arguments),
    "in1d": use("isin", "x=ar1 y=ar2"),
    "intersect1d": use("set_intersection", "x=ar1 y=ar2"),
    "isin": use("isin", "x=element y=test_elements"),
    "searchsorted": use("searchsorted", "ordered=a values=v side"),
    "setdiff1d": use("set_difference", "x=ar1 y=ar2"),
    "setxor1d": use("set_exclusive_or", "x=ar1 y=ar2"),
    "sort": use("sort", "x=a axis -kind"),
    "union1d": use("set_union", "x=ar1 y=ar2"),
    "unique": Choice(
        "axis",
        {
            None: use("unique", f"{FOUND} index=return_index"),
            0: use(
                "unique_slices",
                f"{FOUND} axis -return_index",
                lambda made, arguments: made if len(made) > 1 else made[0],
            ),
        },
    ),
}

WHOLE: Roles = {"dtype": "int64"}
"""Of numbers that are counted, as NumPy makes them."""

CREATED: Table = {
    "arange": use("arange", "start stop step -dtype", also=WHOLE),
    "bartlett": use("bartlett_window", "length=M"),
    "blackman": use("blackman_window", "length=M"),
    "diff": use("difference", "x=a order=n axis"),
    "ediff1d": use("difference", "x=ary"),
    "eye": use("eye", "rows=N columns=M offset=k -dtype"),
    "full": use("full", "shape value=fill_value -dtype", also={"fill_value": 0.01}),
    "full_like": use("full_like", "x=a value=fill_value"),
    "hamming": use("hamming_window", "length=M"),
    "hanning": use("hann_window", "length=M"),
    "identity": use("eye", "rows=n -dtype"),
    "indices": use("indices", "shape=dimensions -dtype", also=WHOLE),
    "interp": use("interpolate", "x known=xp values=fp"),
    "kaiser": use("kaiser_window", "length=M beta"),
    "linspace": use("linspace", "start stop num -dtype"),
    "logspace": use("logspace", "start stop num -dtype"),
    "ones": use("full", "shape -dtype", value=1),
    "tri": use("tri", "rows=N -dtype"),
    "tril_indices": use("tril_indices", "rows=n"),
    "vander": use("vandermonde", "x columns=N"),
    "zeros": use("full", "shape -dtype", value=0),
}

OPERATIONS: Table = merge(REDUCED, SEARCHED, CREATED)


FAMILIES = Families()

OF_ONE_AXIS = ("nanargmax", "nanargmin", "nancumprod", "nancumsum")
"""Functions that do not take several axes."""


@FAMILIES.category("reduction")
@FAMILIES.add(*OF_ONE_AXIS)
def reduction(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As the shared reductions, for functions that are no canonical operation."""
    array = operator.tensors[0].name
    one_axis = operator.name in OF_ONE_AXIS
    for reduced in along_one(size, whys_of(operator.name)) if one_axis else reduced_shapes(size):
        fill = reduction_fill(operator.name, reduced.shape, reduced_axes(reduced.axis))
        yield {
            array: fixed(*reduced.shape, fill=fill),
            **along_axis(reduced.axis),
            WHY: reduced.why,
        }


@FAMILIES.also(*OF_TOKENS)
def of_tokens(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The tokens of sentences that are there, which a mask has for all of their features."""
    shape = few_sentences(size)
    fill = reduction_fill(operator.name, shape, (1,))
    dtype = "bool" if operator.name in DECIDED_BY_ONE else REQUESTED
    yield {
        operator.tensors[0].name: fixed(*shape, fill=fill, dtype=dtype),
        "axis": 1,
        "where": fixed(*shape[:2], 1, fill=PADDED, dtype="bool"),
        **entry_of(OF_TOKENS, operator),
    }


PHASES = between(-math.pi, math.pi)

VARIANTS: dict[str, Variants] = {
    "gradient": lambda size: [
        {"f": fixed(*square(size)), WHY: "along both axes, as the edges of an image"},
        {"f": fixed(*line(size)), WHY: "of one series, as speeds from positions"},
    ],
    "unwrap": lambda size: {
        "a signal's phase, of which the slope is its frequency": call(
            p=fixed(*line(size), fill=PHASES)
        )
    },
}
add_rows(FAMILIES.add, VARIANTS)


FRAME = 400
"""Samples of 25 ms of speech at 16 kHz."""
WINDOWS: dict[str, Row] = {
    "bartlett blackman hamming hanning": lambda size: {
        "M": FRAME,
        WHY: f"as long as a frame of speech, 25 ms at 16 kHz: {MOSTLY_DISPATCH}",
        TAGS: (TINY,),
    },
    "kaiser": lambda size: {"M": FRAME, "beta": 5.0, WHY: "a resampler's short filter"},
}
add_rows(FAMILIES.also, WINDOWS)
