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
from opperf.rules.domains import IGNORES_NAN, reduction_fill
from opperf.rules.families.reductions import (
    WHYS_OF_QUANTILES,
    along_axis,
    along_one,
    reduced_axes,
    reduced_shapes,
    whys_of,
)
from opperf.rules.registering import Families, entry_of
from opperf.rules.shapes import MOSTLY_DISPATCH, line, square
from opperf.rules.sizes import Preset
from opperf.rules.values import PADDED, Arguments, between, call, fixed, literal
from opperf.rules.variants import Row, Variants, add_rows


def cumulative_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any] | None:
    """An array and the axis; None without an axis, as these functions do not flatten arrays."""
    return roles if "axis" in roles else None


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
        "percentile": use("quantile", lambda a, q, **others: {"x": a, "share": q / 100, **others}),
        "quantile": use("quantile", "x=a share=q axis"),
        "trace": use("trace", "x=a"),
    },
)

FOUND = "x=ar inverse=return_inverse counts=return_counts"
"""The array, and what `unique` returns on request."""

SEARCHED: Table = {
    "argsort": use("argsort", "x=a axis -kind"),
    "bincount": use("bincount", "x least=minlength weights"),
    "digitize": use("searchsorted", "values=x ordered=bins", side="right"),
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

OPERATIONS: Table = merge(REDUCED, SEARCHED, CREATED)


FAMILIES = Families()

QUANTILES: dict[str, dict[str, Argument]] = {
    f"{start}{name}": {"q": fixed(3, fill=literal(quarters), dtype="float64")}
    for start in ("", "nan")
    for name, quarters in (("quantile", (0.25, 0.5, 0.75)), ("percentile", (25.0, 50.0, 75.0)))
}
"""The quartiles, as shares or percentages."""


QUARTILES = (
    "the quartiles of each column, as features are scaled robustly: a row's length apart",
    "the quartiles of each row, as box plots of groups show: adjacent in memory",
    "the quartiles of the whole matrix: a layer's weights",
    "the quartiles of long columns, as a table is described",
    "the quartiles of each head's vectors, as to look for outliers: short rows",
    "the quartiles of each feature over a sentence's tokens, the middle axis",
    "the quartiles of each channel of feature maps, as to quantise it",
)
QUARTILES_OF_SOME = (
    *WHYS_OF_QUANTILES["nanquantile"][:3],
    "the quartiles of long columns, as a survey with missing answers is described",
    "the last of four axes, as readings of each station, day and hour, some of them missing",
    "the middle of three axes, as readings over days at each station and hour, some missing",
    "the quartiles of each channel of a stack of images without their clouds",
)
"""Of whole data and of data with missing values, in the order of `reduced_shapes`."""

OF_ONE_AXIS = frozenset({"nanargmax", "nanargmin", "nancumprod", "nancumsum"})
"""Functions that do not take several axes."""


@FAMILIES.category("reduction")
@FAMILIES.add(
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    *QUANTILES,
    replaces="of the shapes of NumPy's other reductions, as all its quantiles",
)
def reduction(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As the shared reductions, for functions that are no canonical operation."""
    also = QUANTILES.get(operator.name, {})
    array = operator.tensors[0].name
    reduced = (
        along_one(size, whys_of(operator.name))
        if operator.name in OF_ONE_AXIS
        else reduced_shapes(size)
    )
    whys: Iterable[str] = (shape.why for shape in reduced)
    if operator.name in QUANTILES:
        whys = QUARTILES_OF_SOME if operator.name in IGNORES_NAN else QUARTILES
    for (shape, axis, _), why in zip(reduced, whys, strict=True):
        fill = reduction_fill(operator.name, shape, reduced_axes(axis))
        yield {array: fixed(*shape, fill=fill), **also, **along_axis(axis), WHY: why}


@FAMILIES.also(*OF_TOKENS)
def of_tokens(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The tokens of sentences that are there, which a mask has for all of their features."""
    shape = few_sentences(size)
    yield {
        operator.tensors[0].name: fixed(*shape, fill=reduction_fill(operator.name, shape, (1,))),
        "axis": 1,
        "where": fixed(*shape[:2], 1, fill=PADDED, dtype="bool"),
        **entry_of(OF_TOKENS, operator),
    }


PHASES = between(-math.pi, math.pi)

VARIANTS: dict[str, Variants] = {
    "trapezoid trapz": lambda size: {"the area under a row's curve": call(y=fixed(*square(size)))},
    "gradient": lambda size: [
        {"f": fixed(*square(size)), WHY: "along both axes, as the edges of an image"},
        {"f": fixed(*line(size)), WHY: "of one series, as speeds from positions"},
    ],
    "unwrap": lambda size: {"a phase vocoder's phases": call(p=fixed(*square(size), fill=PHASES))},
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
