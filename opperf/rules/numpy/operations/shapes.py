"""NumPy's functions that rearrange elements, or read or write some by index."""

from __future__ import annotations

from typing import Any

from opperf.model import Operator
from opperf.operations.uses import Array, Table, Use, only_written_to, use


def split_along(axis: int) -> Use:
    """The use of a function that splits along a fixed axis, into equal parts or at indices."""

    def roles_of(ary: Array, indices_or_sections: Any) -> dict[str, Any]:
        own = {"x": ary, "axis": axis}
        if isinstance(indices_or_sections, int):
            return own | {"parts": indices_or_sections}
        return own | {"starts": tuple(indices_or_sections)}

    def arguments_of(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
        return {"ary": roles["x"], "indices_or_sections": roles.get("parts") or roles["starts"]}

    return use("split", roles_of, to_arguments=arguments_of)


def roll_roles(a: Array, shift: int, axis: int | None = None) -> dict[str, Any]:
    """An array, and the distance and the axis as lists of one."""
    return {"x": a, "shift": (shift,), "axis": None if axis is None else (axis,)}


def roll_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """An array, the distance, and the axis if there is one."""
    (shift,), axes = roles["shift"], roles.get("axis", ())
    return {"a": roles["x"], "shift": shift, **({"axis": axes[0]} if axes else {})}


def append_roles(arr: Array, values: Array, axis: int | None) -> dict[str, Any]:
    """Two arrays, as vectors if there is no axis, and the axis."""
    tensors = [arr.ravel(), values.ravel()] if axis is None else [arr, values]
    return {"tensors": tensors, "axis": axis or 0}


def along_axis_roles(arr: Array, indices: Array, axis: int, **values: Array) -> dict[str, Any]:
    """Data and indices along its last axis, and the values to write, where there are some."""
    assert axis == arr.ndim - 1
    return {"data": arr, "indices": indices} | values


def along_axis_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Matrices, indices along their last axis, and the values to write, where there are some."""
    made = {"arr": roles["data"], "indices": roles["indices"]}
    if "values" in roles:
        made["values"] = roles["values"]
    return {**made, "axis": 1}


def compress_roles(condition: Array, axis: int, a: Array) -> dict[str, Any]:
    """Data, and the indices along an axis where the condition holds."""
    return {"data": a, "indices": [i for i, one in enumerate(condition) if one], "axis": axis}


JOINED = "tensors=arrays|tup axis"
EACH = "tensors=arys"

OF_MATRICES: dict[str, Any] = {"axis1": -2, "axis2": -1}
"""The axes of NumPy 2's functions of stacks of matrices."""

SHAPES: Table = {
    "append": use("concatenate", append_roles),
    "array_split": split_along(0),
    "astype": use("cast", "x dtype"),
    "atleast_1d": use("atleast_1d", EACH),
    "atleast_2d": use("atleast_2d", EACH),
    "atleast_3d": use("atleast_3d", EACH),
    "broadcast_to": use("broadcast", "x=array shape"),
    "column_stack": use("column_stack", JOINED),
    "concatenate": use("concatenate", JOINED),
    "diag": use("diag", "x=v offset=k"),
    "diagflat": use("diagflat", "x=v"),
    "diagonal": use("diagonal", "x=a offset axis1 axis2"),
    "dsplit": split_along(2),
    "dstack": use("dstack", JOINED),
    "expand_dims": use("expand_dims", "x=a axis"),
    "flip": use("flip", "x=m axis"),
    "fliplr": use("flip", "x=m", axis=1),
    "flipud": use("flip", "x=m", axis=0),
    "hsplit": split_along(1),
    "hstack": use("hstack", JOINED),
    "linalg.diagonal": use("diagonal", "x offset", **OF_MATRICES),
    "linalg.matrix_transpose": use("swapaxes", "x", **OF_MATRICES),
    "matrix_transpose": use("swapaxes", "x", **OF_MATRICES),
    "moveaxis": use("moveaxis", "x=a source destination"),
    "pad": use("pad", "x=array widths=pad_width mode"),
    "repeat": use("repeat", "x=a times=repeats axis"),
    "reshape": use("reshape", "x=a shape=shape|newshape"),
    "roll": use("roll", roll_roles, to_arguments=roll_arguments),
    "rollaxis": use("rollaxis", "x=a axis start"),
    "rot90": use("rot90", "x=m times=k"),
    "split": split_along(0),
    "squeeze": use("squeeze", "x=a axis"),
    "stack": use("stack", JOINED),
    "swapaxes": use("swapaxes", "x=a axis1 axis2"),
    "tile": use("tile", "x=A times=reps"),
    "transpose": use("transpose", "x=a axes"),
    "tril": use("tril", "x=m offset=k"),
    "triu": use("triu", "x=m offset=k"),
    "vsplit": split_along(0),
    "vstack": use("vstack", JOINED),
}

INDEXING: Table = {
    "argwhere": use("nonzero", "x=a"),
    "choose": use("choose", "choices indices=a"),
    "compress": use("take", compress_roles),
    "delete": use("delete", "data=arr where=obj axis"),
    "extract": use("boolean_mask", "mask=condition data=arr"),
    "fill_diagonal": use("fill_diagonal", "data=a value=val", only_written_to("a")),
    "flatnonzero": use("flat_nonzero", "x=a"),
    "nonzero": use("nonzero", "x=a", lambda made, arguments: tuple(made.T)),
    "put": use("put", "data=a indices=ind values=v", only_written_to("a")),
    "put_along_axis": use(
        "put_along_last",
        along_axis_roles,
        only_written_to("arr"),
        to_arguments=along_axis_arguments,
    ),
    "ravel_multi_index": use("ravel_multi_index", "indices=multi_index shape=dims"),
    "take": use("take", "data=a indices axis"),
    "take_along_axis": use("take_along_last", along_axis_roles, to_arguments=along_axis_arguments),
    "where": use("where", "condition x y"),
    "unravel_index": use(
        "unravel_index", "flat=indices shape", lambda made, arguments: tuple(made)
    ),
}
