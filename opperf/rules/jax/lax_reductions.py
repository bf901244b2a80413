"""Families of functions of `jax.lax` that reduce, accumulate, sort, or make arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Array, Roles, Table, Use, Values, as_list, merge, use
from opperf.rules.bert import scores, tokens
from opperf.rules.configurations import WHY
from opperf.rules.domains import BITS, FEW_INTEGERS, reduction_fill
from opperf.rules.engine import arguments_by_role
from opperf.rules.families import sorting
from opperf.rules.families.sorting import fewer
from opperf.rules.jax.lax_elementwise import omitted, scalar
from opperf.rules.jax.properties import INDEX
from opperf.rules.registering import Families
from opperf.rules.shapes import MOSTLY_DISPATCH, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, tensor
from opperf.rules.variants import Variants, add_rows


def reduced_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor and a list of its axes, by default all."""
    x = roles["x"]
    assert isinstance(x, TensorSpec)
    axes = as_list(roles["axis"]) if "axis" in roles else tuple(range(len(x.shape)))
    return {"operand": x, "axes": axes}


def logical_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """As `reduced_arguments`, of booleans: of integers these functions combine bits."""
    made = reduced_arguments(operator, roles)
    return {**made, "operand": msgspec.structs.replace(made["operand"], dtype="bool")}  # type: ignore[type-var]


REDUCED: Table = {
    f"lax.reduce_{name}": use(operation, "x=operand axis=axes", to_arguments=to_arguments)
    for name, operation, to_arguments in (
        ("and", "all", logical_arguments),
        ("max", "max", reduced_arguments),
        ("min", "min", reduced_arguments),
        ("or", "any", logical_arguments),
        ("prod", "prod", reduced_arguments),
        ("sum", "sum", reduced_arguments),
        ("xor", "exclusive_or", reduced_arguments),
    )
}


def place_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor, its axis and the dtype of indices; None without an axis."""
    if "axis" not in roles:
        return None
    return {"operand": roles["x"], "axis": roles["axis"], "index_dtype": INDEX}


def accumulated_roles(operand: Array, axis: int = 0, reverse: bool = False) -> dict[str, Any]:
    """A tensor, from its end if it is accumulated in reverse, and the axis."""
    return {"x": np.flip(operand, axis) if reverse else operand, "axis": axis}


def in_order(made: Array, arguments: Values) -> Array:
    """Results in the order of the elements."""
    return np.flip(made, arguments.get("axis", 0)) if arguments.get("reverse") else made


def accumulated_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor and its axis; None without one, as these functions do not flatten arrays."""
    return {"operand": roles["x"], "axis": roles["axis"]} if "axis" in roles else None


ACCUMULATED: Table = {
    f"lax.{name}": use(name, accumulated_roles, in_order, accumulated_arguments)
    for name in ("cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum")
}


def sort_roles(
    operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> dict[str, Any]:
    """The first of the tensors, and the axis."""
    first = operand[0] if isinstance(operand, (list, tuple)) else operand
    return {"x": first, "axis": dimension}


def sorted_together(made: Array, arguments: Values) -> Any:
    """Tensors in the order of the first ones, the keys; NumPy's function takes the last first."""
    operand, axis = arguments["operand"], arguments.get("dimension", -1)
    if not isinstance(operand, (list, tuple)):
        return made
    keys = operand[: arguments.get("num_keys", 1)]
    order = np.lexsort(keys[::-1], axis=axis)
    return tuple(np.take_along_axis(tensor, order, axis) for tensor in operand)


def values_by_keys(order: Array, arguments: Values) -> tuple[Array, Array]:
    """Keys and values in the order of the keys."""
    axis = arguments.get("dimension", -1)
    keys, values = arguments["keys"], arguments["values"]
    return np.take_along_axis(keys, order, axis), np.take_along_axis(values, order, axis)


def keys_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Keys, as many values, and the axis: unlike indices, both have a gradient."""
    x = roles["x"]
    assert isinstance(x, TensorSpec)
    one = msgspec.structs.replace(x, gradient=True)
    return {"keys": one, "values": one, "dimension": roles["axis"]}


def top_k(sign: int, axis: str, data: str = "operand") -> Use:
    """The use of a function that returns the largest or smallest elements of its data along an
    axis, which a parameter of this name says; without one, the last."""

    def roles_of(k: int, **others: Any) -> dict[str, Any]:
        operand = others.pop(data)
        along = others.pop(axis, -1) if axis else -1
        others.pop("recall_target", None)
        assert not others
        return {"x": sign * operand, "k": k, "gives": "both", "axis": along}

    def best(made: Any, arguments: Values) -> tuple[Array, Array]:
        values, places = made
        return sign * values, places

    def arguments_of(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        made = {data: roles["x"], "k": roles["k"]}
        if axis:
            return {**made, axis: roles["axis"]}
        return made if roles["axis"] == -1 else None

    return use("top_k", roles_of, best, arguments_of)


SORTED: Table = {
    "jnp.top_k": top_k(1, "axis", "a"),
    "lax.approx_max_k": top_k(1, "reduction_dimension"),
    "lax.approx_min_k": top_k(-1, "reduction_dimension"),
    "lax.argmax": use("argmax", "x=operand axis -index_dtype", to_arguments=place_arguments),
    "lax.argmin": use("argmin", "x=operand axis -index_dtype", to_arguments=place_arguments),
    "lax.sort": use(
        "sort",
        sort_roles,
        sorted_together,
        lambda operator, roles: {"operand": roles["x"], "dimension": roles["axis"]},
    ),
    "lax.sort_key_val": use(
        "argsort",
        lambda keys, values, **others: sort_roles(keys, **others),
        values_by_keys,
        keys_arguments,
    ),
    "lax.top_k": top_k(1, ""),
}

CREATED: Table = {
    "lax.broadcasted_iota": use(
        "indices",
        lambda dtype, shape, dimension: {"shape": shape},
        lambda made, arguments: made[arguments["dimension"]],
        omitted,
    ),
    "lax.full": use(
        "full", "shape value=fill_value -dtype", also={"fill_value": scalar(-10_000.0)}
    ),
    "lax.full_like": use("full_like", "x value=fill_value"),
    "lax.iota": use("arange", "start=size -dtype", to_arguments=omitted),
}

OPERATIONS: Table = merge(REDUCED, ACCUMULATED, SORTED, CREATED)


FAMILIES = Families()


@FAMILIES.also("lax.cumlogsumexp", "lax.cummax", "lax.cummin", "lax.cumprod", "lax.cumsum")
def from_the_end(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """From the end of each row to its beginning, as what is still to come at each step."""
    fill = reduction_fill(operator.name.removeprefix("lax."), square(size), (1,))
    yield {"operand": tensor(*square(size), fill=fill), "axis": 1, "reverse": True}


@FAMILIES.also("lax.sort")
def sort_by_two_keys(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Rows of a table by two keys, of which the first has few values, with their places."""
    few, places = (fixed(*fewer(size), fill=fill, dtype=INDEX) for fill in (FEW_INTEGERS, BITS))
    yield {"operand": (few, tensor(*fewer(size)), places), "dimension": 1, "num_keys": 2}


@FAMILIES.also("lax.sort", "lax.sort_key_val")
def sort_unstably(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores without regard to the order of equal ones, as `jax.numpy.sort` may."""
    one = tensor(*fewer(size))
    tensors = {"operand": one} if operator.name == "lax.sort" else {"keys": one, "values": one}
    yield {**tensors, "dimension": 1, "is_stable": False}


@FAMILIES.also("lax.approx_max_k", "lax.approx_min_k")
def of_lower_recall(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The ten nearest of many neighbours, of which a tenth may be missed."""
    yield {"operand": tensor(size.batch, vector(size)[0] // 16), "k": 10, "recall_target": 0.9}


DISTANCES = (
    "the nearest 50 of many distances for each query, as a search index's candidates",
    "six nearest of 64 centres for each vector, as an inverted file is probed",
    "the nearest twentieth of many points for each query",
    "the nearest of many points to each of a few: long columns",
)
"""Why the smallest elements of the shapes of `top_k` are found."""


@FAMILIES.add("lax.approx_min_k", replaces="smallest are distances where largest are scores")
def nearest(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The shapes of largest elements."""
    rows = arguments_by_role(operator, OPERATIONS, sorting.FAMILIES.by_operation["top_k"], size)
    return [{**row, WHY: why} for row, why in zip(rows, DISTANCES, strict=True)]


VARIANTS: dict[str, Variants] = {
    "lax.iota": lambda size: [
        {"dtype": dtype, "size": count, WHY: why}
        for count, dtype, why in (
            (vector(size)[0], INDEX, "positions of all samples, before an epoch's shuffle"),
            (vector(size)[0], "float32", "real numbers counted up, as times of a signal's samples"),
            (tokens(size)[1], INDEX, f"positions of a sentence's tokens: {MOSTLY_DISPATCH}"),
        )
    ],
    "lax.broadcasted_iota": lambda size: [
        {"dtype": INDEX, "shape": shape, "dimension": axis, WHY: why}
        for shape, axis, why in (
            (square(size), 0, "each element's row, as one side of a causal mask"),
            (scores(size), 3, "each attention score's key, for masks of a window"),
        )
    ],
}
add_rows(FAMILIES.add, VARIANTS)
