"""PyTorch's reductions, cumulative operators and statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from opperf.model import Argument, Kind, Operator, TensorSpec
from opperf.model.targets import DEFAULT_OVERLOAD
from opperf.operations.uses import (
    ANYTHING,
    Array,
    Roles,
    Table,
    ToOutput,
    Use,
    Values,
    as_list,
    merge,
    use,
)


def axes_of(dim: Any) -> Any:
    """The axes of an argument, in which an empty list stands for all."""
    return None if dim is None or np.shape(dim) == (0,) else dim


def _reduction_roles(
    self: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> dict[str, Any]:
    kept = {"keepdims": True} if keepdim else {}
    return {"x": self, "axis": axes_of(dim), **kept}


ALL_AXES = ("None", "[]")
"""Defaults of a parameter that stand for all axes, as schemas have them."""


def with_axes(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor, and its axes as the overload takes them: none, one or a list; None where it takes
    no such axes, and for all axes where another overload is called for them."""
    made = {operator.tensors[0].name: roles["x"]}
    dim, axis = operator.parameter("dim"), roles.get("axis")
    if axis is None:
        whole = dim is None or (operator.overload == DEFAULT_OVERLOAD and dim.default in ALL_AXES)
        return made if whole else None
    if dim is None:
        return None
    if dim.kind is Kind.SHAPE:
        return {**made, "dim": as_list(axis)}
    return {**made, "dim": axis} if isinstance(axis, int) else None


def reduce(operation: str, to_output: ToOutput | None = None) -> Use:
    """The use of a reduction."""
    return use(operation, _reduction_roles, to_output, with_axes)


def _with_places(values: Array, arguments: Values) -> tuple[Array, Array]:
    x, axis = arguments["self"], arguments["dim"]
    kept = values if arguments.get("keepdim") else np.expand_dims(values, axis)
    places = (x == kept).argmax(axis)
    return values, np.expand_dims(places, axis) if arguments.get("keepdim") else places


def _with_running_places(values: Array, arguments: Values) -> tuple[Array, Array]:
    x, axis = arguments["self"], arguments["dim"]
    along = np.moveaxis(np.indices(x.shape)[axis], axis, 0)
    found = np.moveaxis(x == values, axis, 0)
    places = np.maximum.accumulate(np.where(found, along, 0))
    return values, np.moveaxis(places, 0, axis)


def _deviation_roles(
    self: Array,
    dim: Any = None,
    unbiased: bool = True,
    correction: float | None = None,
    keepdim: bool = False,
) -> dict[str, Any]:
    taken = float(unbiased) if correction is None else correction
    return {**_reduction_roles(self, dim, keepdim), "correction": taken}


def deviation(operation: str, to_output: ToOutput | None = None) -> Use:
    """The use of a variance, or of a function of one."""
    return use(operation, _deviation_roles, to_output, with_axes)


def _quantile_roles(
    self: Array, q: Any, dim: int | None = None, keepdim: bool = False
) -> dict[str, Any]:
    assert not keepdim
    return {"x": self, "share": q, "axis": dim}


def _quantile_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    parameter = operator.parameter("q")
    assert parameter is not None
    if isinstance(roles["share"], TensorSpec) is not (parameter.kind is Kind.TENSOR):
        return None
    axis: Roles = {"dim": roles["axis"]} if "axis" in roles else {}
    return {"self": roles["x"], "q": roles["share"], **axis}


def _compared_roles(
    self: Array, other: Array, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> dict[str, Any]:
    assert not equal_nan
    return {"x": self, "y": other, "relative": rtol, "absolute": atol}


def _sum_to_size_roles(self: Array, size: Any) -> dict[str, Any]:
    added = self.ndim - len(size)
    axes = [*range(added), *(added + i for i, one in enumerate(size) if one == 1)]
    return {"x": self, "axis": axes, "keepdims": True}


def _segment_roles(
    data: Array, reduce: str, lengths: Any = None, offsets: Any = None, axis: int = 0
) -> dict[str, Any]:
    assert axis == 0
    return {
        "data": data,
        "lengths": np.diff(offsets) if lengths is None else lengths,
        "reduction": reduce,
    }


def _gradient_roles(
    self: Array, spacing: Any = None, dim: Any = None, edge_order: int = 1
) -> dict[str, Any]:
    assert edge_order == 1
    axes = range(self.ndim) if dim is None else np.atleast_1d(dim).tolist()
    if spacing is None or isinstance(spacing, (int, float)):
        spacing = [1.0 if spacing is None else spacing] * len(axes)
    return {"x": self, "spacing": list(spacing), "axis": list(axes)}


OTHER_NAMES = {
    "amax": "max",
    "amin": "min",
    "max.default": "max",
    "median.default": "lower_median",
    "min.default": "min",
    "nanmedian.default": "lower_nanmedian",
    "special_logsumexp": "logsumexp",
}
"""Operations of reductions that have another name."""
WITH_PLACES = {"max": "max", "median": "lower_median", "min": "min", "nanmedian": "lower_nanmedian"}
"""Operations of those that return the places of what they found along an axis."""
OWN_NAMES = "all any argmax argmin count_nonzero logsumexp mean nanmean nansum prod sum"

REDUCED: Table = merge(
    {name: reduce(name) for name in OWN_NAMES.split()},
    {name: reduce(operation) for name, operation in OTHER_NAMES.items()},
    {f"{name}.dim": reduce(made, _with_places) for name, made in WITH_PLACES.items()},
    {
        "aminmax": reduce("min_and_max"),
        "max.other": use("maximum", "x=self y=other"),
        "min.other": use("minimum", "x=self y=other"),
        # Of equally frequent places, any may be returned.
        "mode": reduce("mode", lambda values, arguments: (values, ANYTHING)),
        "std": deviation("std"),
        "std_mean": deviation("moments", lambda made, arguments: (made[1] ** 0.5, made[0])),
        "sum_to_size": use("sum", _sum_to_size_roles),
        "var": deviation("var"),
        "var_mean": deviation("moments", lambda made, arguments: (made[1], made[0])),
        **{
            f"{name}{end}": use(name, _quantile_roles, to_arguments=_quantile_arguments)
            for name in ("quantile", "nanquantile")
            for end in ("", ".scalar")
        },
    },
)

ACCUMULATED: Table = {
    "cummax": reduce("cummax", _with_running_places),
    "cummin": reduce("cummin", _with_running_places),
    "cumprod_backward": use(
        "cumsum",
        lambda grad, input, dim, output: {"x": np.flip(grad * output, dim), "axis": dim},
        lambda made, arguments: np.flip(made, arguments["dim"]) / arguments["input"],
    ),
    **{name: reduce(name) for name in ("cumprod", "cumsum")},
    "logcumsumexp": reduce("cumlogsumexp"),
    "cumulative_trapezoid.dx": use("cumulative_trapezoid", "y spacing=dx axis=dim"),
    "cumulative_trapezoid.x": use("cumulative_trapezoid", "y x axis=dim"),
    "diff": use("difference", "x=self order=n axis=dim"),
    "gradient": use("gradient", _gradient_roles),
    "segment_reduce": use(
        "segment_reduce", _segment_roles, to_arguments="data reduction=reduce lengths"
    ),
    **dict.fromkeys(("trapezoid.dx", "trapz.dx"), use("trapezoid", "y spacing=dx axis=dim")),
    **dict.fromkeys(("trapezoid.x", "trapz.x"), use("trapezoid", "y x axis=dim")),
}

COMPARED: Table = {
    "allclose": use("allclose", _compared_roles, to_arguments="x=self y=other"),
    "equal": use("same_elements", "x=self y=other"),
}

OPERATIONS: Table = merge(REDUCED, ACCUMULATED, COMPARED)
