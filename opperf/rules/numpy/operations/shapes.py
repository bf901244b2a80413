"""NumPy's functions that lay elements out anew, pick some, or put some in their places."""

from __future__ import annotations

from typing import Any

from opperf.model import Operator
from opperf.operations.uses import Array, Table, Use, only_written_to, use


def parts(axis: int) -> Use:
    """Equal parts, or parts that begin where said after the first one, along an axis."""

    def taken(ary: Array, indices_or_sections: Any) -> dict[str, Any]:
        own = {"x": ary, "axis": axis}
        if isinstance(indices_or_sections, int):
            return own | {"parts": indices_or_sections}
        return own | {"starts": tuple(indices_or_sections)}

    def spelled(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
        return {"ary": roles["x"], "indices_or_sections": roles.get("parts") or roles["starts"]}

    return use("split", taken, spell=spelled)


def rolled(a: Array, shift: int, axis: int | None = None) -> dict[str, Any]:
    """One distance and one axis."""
    return {"x": a, "shift": (shift,), "axis": None if axis is None else (axis,)}


def one_distance(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """The arguments for these roles."""
    (shift,), axes = roles["shift"], roles.get("axis", ())
    return {"a": roles["x"], "shift": shift, **({"axis": axes[0]} if axes else {})}


def appended(arr: Array, values: Array, axis: int | None) -> dict[str, Any]:
    """Both as vectors, or along an axis."""
    tensors = [arr.ravel(), values.ravel()] if axis is None else [arr, values]
    return {"tensors": tensors, "axis": axis or 0}


def along_last(arr: Array, indices: Array, axis: int, **values: Array) -> dict[str, Any]:
    """Along matrices' last axis, of values too where some are put."""
    assert axis == arr.ndim - 1
    return {"data": arr, "indices": indices} | values


def last_axis(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """The arguments for these roles, of matrices."""
    made = {"arr": roles["data"], "indices": roles["indices"]}
    if "values" in roles:
        made["values"] = roles["values"]
    return {**made, "axis": 1}


def kept(condition: Array, axis: int, a: Array) -> dict[str, Any]:
    """Rows where the condition holds, by their indices."""
    return {"data": a, "indices": [i for i, one in enumerate(condition) if one], "axis": axis}


JOINED = "tensors=arrays|tup axis"
EACH = "tensors=arys"

OF_MATRICES: dict[str, Any] = {"axis1": -2, "axis2": -1}
"""The axes of functions that NumPy 2 has for a stack of matrices."""

SHAPES: Table = {
    "append": use("concatenate", appended),
    "array_split": parts(0),
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
    "dsplit": parts(2),
    "dstack": use("dstack", JOINED),
    "expand_dims": use("expand_dims", "x=a axis"),
    "flip": use("flip", "x=m axis"),
    "fliplr": use("flip", "x=m", axis=1),
    "flipud": use("flip", "x=m", axis=0),
    "hsplit": parts(1),
    "hstack": use("hstack", JOINED),
    "linalg.diagonal": use("diagonal", "x offset", **OF_MATRICES),
    "linalg.matrix_transpose": use("swapaxes", "x", **OF_MATRICES),
    "matrix_transpose": use("swapaxes", "x", **OF_MATRICES),
    "moveaxis": use("moveaxis", "x=a source destination"),
    "pad": use("pad", "x=array widths=pad_width mode"),
    "repeat": use("repeat", "x=a times=repeats axis"),
    "reshape": use("reshape", "x=a shape=shape|newshape"),
    "roll": use("roll", rolled, spell=one_distance),
    "rollaxis": use("rollaxis", "x=a axis start"),
    "rot90": use("rot90", "x=m times=k"),
    "split": parts(0),
    "squeeze": use("squeeze", "x=a axis"),
    "stack": use("stack", JOINED),
    "swapaxes": use("swapaxes", "x=a axis1 axis2"),
    "tile": use("tile", "x=A times=reps"),
    "transpose": use("transpose", "x=a axes"),
    "tril": use("tril", "x=m offset=k"),
    "triu": use("triu", "x=m offset=k"),
    "vsplit": parts(0),
    "vstack": use("vstack", JOINED),
}

INDEXING: Table = {
    "argwhere": use("nonzero", "x=a"),
    "choose": use("choose", "choices indices=a"),
    "compress": use("take", kept),
    "delete": use("delete", "data=arr where=obj axis"),
    "extract": use("boolean_mask", "mask=condition data=arr"),
    "fill_diagonal": use("fill_diagonal", "data=a value=val", only_written_to("a")),
    "flatnonzero": use("flat_nonzero", "x=a"),
    "nonzero": use("nonzero", "x=a", lambda made, arguments: tuple(made.T)),
    "put": use("put", "data=a indices=ind values=v", only_written_to("a")),
    "put_along_axis": use("put_along_last", along_last, only_written_to("arr"), spell=last_axis),
    "ravel_multi_index": use("ravel_multi_index", "indices=multi_index shape=dims"),
    "take": use("take", "data=a indices axis"),
    "take_along_axis": use("take_along_last", along_last, spell=last_axis),
    "where": use("where", "condition x y"),
    "unravel_index": use(
        "unravel_index", "flat=indices shape", lambda made, arguments: tuple(made)
    ),
}
