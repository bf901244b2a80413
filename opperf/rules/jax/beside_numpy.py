"""Functions of `jax.numpy` that NumPy has under other names, or not as functions of arrays; and
arguments that functions of `jax.numpy` take beside NumPy's, without which they cannot be
compiled, and NumPy's that they refuse.

The shape of a compiled program's result is fixed: a result whose length depends on data has the
argument `size`, and is padded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from opperf.model import Argument, DType, Operator, TensorSpec
from opperf.operations.uses import Roles, Table, Values, Written, use
from opperf.rules.configurations import WHY
from opperf.rules.jax.properties import body
from opperf.rules.registering import Families
from opperf.rules.shapes import FEW, line, slim, square, tiny
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    BOOLEAN,
    OPEN_UNIT,
    REQUESTED,
    Arguments,
    below,
    fixed,
    tensor,
    tensors,
)

Further = Callable[[Arguments], dict[str, Argument]]
"""Makes the arguments that a function takes beside those of NumPy's."""


def elements(arguments: Arguments, *names: str) -> int:
    """The number of elements of these arguments together."""
    specs = (arguments[name] for name in names)
    return sum(math.prod(spec.shape) for spec in specs if isinstance(spec, TensorSpec))


def at_most(*names: str, **others: Argument) -> Further:
    """As many results as these arguments have elements together."""
    return lambda arguments: {"size": elements(arguments, *names), **others}


def always(**values: Argument) -> Further:
    """The same arguments in every configuration."""
    return lambda arguments: values


MOST_PAIRS = 1 << 32
"""JAX compares each pair of two lists unless asked to sort: minutes for two million elements."""


def has_many_pairs(arguments: Arguments, *names: str) -> bool:
    """Returns whether each element of one argument with each of another are too many pairs."""
    return math.prod(elements(arguments, name) for name in names) > MOST_PAIRS


def sorted_if_long(arguments: Arguments) -> dict[str, Argument]:
    """The method that programs choose for long lists, and for integers."""
    element = arguments["element"]
    is_whole = isinstance(element, TensorSpec) and element.dtype != REQUESTED
    sorts = is_whole or has_many_pairs(arguments, "element", "test_elements")
    return {"method": "sort"} if sorts else {}


DIVIDED = 32
"""Coefficients that are divided: a thousand, each a step of its own, take minutes to compile."""

COPIED = always(inplace=False)
CLIPPED = always(mode="clip")

FURTHER: Mapping[str, Further] = {
    **dict.fromkeys(("arange", "indices"), always(dtype="int32")),
    **dict.fromkeys(("argwhere", "flatnonzero", "nonzero"), at_most("a")),
    "bincount": lambda arguments: {"length": arguments["minlength"]},
    **dict.fromkeys(("choose", "ravel_multi_index"), CLIPPED),
    **dict.fromkeys(("compress", "extract"), at_most("condition")),
    **dict.fromkeys(("fill_diagonal", "place", "put", "put_along_axis"), COPIED),
    "intersect1d": at_most("ar1", fill_value=0),
    "isin": sorted_if_long,
    "polydiv": always(u=fixed(DIVIDED)),
    "roots": always(strip_zeros=False),
    "setdiff1d": at_most("ar1", fill_value=0),
    **dict.fromkeys(("setxor1d", "union1d"), at_most("ar1", "ar2", fill_value=0)),
    "unique": at_most("ar", fill_value=0),
    **{f"unique_{n}": at_most("x", fill_value=0) for n in ("all", "counts", "inverse", "values")},
    "where": lambda given: {} if "x" in given else at_most("condition")(given),
}
"""By NumPy's name. JAX's arrays are immutable, and its programs raise no error for an index."""

REFUSED: Mapping[str, Callable[[Arguments], bool]] = {
    **dict.fromkeys(("argsort", "sort"), lambda arguments: "kind" in arguments),
    # In place of double precision, which it has only if asked, it would return the array as it is.
    "astype": lambda arguments: "float64" in (arguments["dtype"], arguments["x"].dtype),  # type: ignore[union-attr]
    "histogram_bin_edges": lambda arguments: isinstance(arguments.get("bins"), str),
    "setdiff1d": lambda arguments: has_many_pairs(arguments, "ar1", "ar2"),
    # As many results as elements would be far more than slices.
    "unique": lambda arguments: "axis" in arguments,
}
"""Whether JAX's function refuses NumPy's arguments, by NumPy's name."""

TOLD = {
    ": a view, the time of the call": ": a copy",
    ": a view": ": a copy",
    ": views": ": copies",
    ": introselect": ": all that are less, and all that are greater, by top_k",
    ": not written to": ": zeros are written",
    ": one element is copied at a time": ": gathered by their indices",
    ": whole rows are copied": ": gathered by their indices, whole rows",
    ": a Python loop over coefficients": ": a loop over coefficients",
}
"""Ends of lines of why on how NumPy computes, each with what JAX does, which has no views."""


def retold(arguments: Arguments) -> Arguments:
    """Returns NumPy's arguments with a line of why that is true of JAX."""
    if WHY not in arguments:
        return arguments
    why = str(arguments[WHY]).replace("int64", "int32")
    end = next(filter(why.endswith, TOLD), "")
    return {**arguments, WHY: why.removesuffix(end) + TOLD.get(end, "")}


def with_further(name: str, arguments: Arguments) -> Arguments | None:
    """Returns the arguments of JAX's function, from those of NumPy's; None if it refuses them."""
    if name in REFUSED and REFUSED[name](arguments):
        return None
    return {**arguments, **FURTHER[name](arguments)} if name in FURTHER else arguments


ADDED = frozenset({"size", "fill_value", "length", "inplace", "method", "mode", "strip_zeros"})
"""Names of the arguments in `FURTHER`."""


def numpy_values(name: str, arguments: Values) -> dict[str, Any]:
    """Returns the arguments that NumPy's function has too."""
    added = ADDED if name in FURTHER else frozenset[str]()
    return {key: value for key, value in arguments.items() if key not in added}


def as_returned(name: str, made: Any, arguments: Values) -> Any:
    """Returns the result of JAX's function, from that of NumPy's: one that NumPy writes to an
    argument is returned, one of data-dependent length is padded with zeros."""
    if name not in FURTHER:
        return made
    if isinstance(made, Written) and not len(made.output):
        (made,) = made.arguments.values()
    size = arguments.get("size")
    if size is None:
        return made
    axis = arguments.get("axis") or 0
    if isinstance(made, tuple):
        is_index = [arguments.get("return_index") and place == INDEX for place in range(len(made))]
        fills = [one[0] if first else 0 for first, one in zip(is_index, made, strict=True)]
        return tuple(padded(one, size, axis, fill) for one, fill in zip(made, fills, strict=True))
    return padded(made, size, axis)


INDEX = 1
"""Place of the indices among the results of `unique`: they are padded with the first one."""


def padded(array: Any, size: int, axis: int, fill: Any = 0) -> Any:
    """Returns an array with one number behind its elements along an axis."""
    import numpy as np

    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, max(0, size - array.shape[axis]))
    return np.pad(array, widths, constant_values=fill)


def axes_in_order(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """The arguments of a transposition, which requires axes: all of them in reverse by default."""
    x = roles["x"]
    assert isinstance(x, TensorSpec)
    return {"a": x, "axes": roles.get("axes", tuple(reversed(range(len(x.shape)))))}


OPERATIONS: Table = {
    "jnp.array": use("identity", "x=object -dtype -copy -ndmin"),
    "jnp.asarray": use("identity", "x=a -dtype"),
    "jnp.concat": use("concatenate", "tensors=arrays axis"),
    "jnp.copy": use("identity", "x=a"),
    "jnp.from_dlpack": use("identity", "x -device -copy"),
    "jnp.permute_dims": use("transpose", "x=a axes", to_arguments=axes_in_order),
}


FAMILIES = Families()


@FAMILIES.add("jnp.array", "jnp.asarray")
def convert(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix in another dtype."""
    yield {
        operator.tensors[0].name: fixed(*square(size), fill=below(256), dtype="uint8"),
        "dtype": DType(REQUESTED),
        WHY: "bytes of pixels to the dtype of a network",
    }


@FAMILIES.add("jnp.polyval", replaces="XLA folds as many zeros of the backward pass: fewer numbers")
def polynomial(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A polynomial of degree 4. For a million numbers XLA would fold zeros for 15 seconds."""
    for shape, notes in ((slim(size), {WHY: FITTED}), (tiny(size), FEW)):
        yield {"p": tensor(5), "x": tensor(*shape, fill=OPEN_UNIT), **notes}


FITTED = "a quartic that was fitted to a curve, at many places"

NOT_BENCHMARKED = {
    "jnp.fromiter": "JAX does not implement it: it raises an error for any arguments",
    "jnp.mask_indices": "calls a Python function for a mask, whose time would be measured",
}
"""Functions that cannot be called on their own, each with the reason."""


@FAMILIES.also("jnp.piecewise")
def functions_of_pieces(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Functions of the elements where masks are set, where NumPy's inputs have numbers."""
    for why, shape in (
        ("a leaky rectifier written in two pieces", square(size)),
        ("the same of a shorter vector", line(size)),
    ):
        positive = tensors([fixed(*shape, fill=BOOLEAN, dtype="bool")])
        pieces = body("unchanged"), body("leak")
        yield {"x": tensor(*shape), "condlist": positive, "funclist": pieces, WHY: why}
