"""Functions that rearrange, join, make or convert arrays, and are no canonical operation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opperf.model import Operator
from opperf.operations.uses import Array, Table, Use, merge, only_written_to, use
from opperf.operations.work import sizes
from opperf.rules.configurations import TAGS, TINY, WHY
from opperf.rules.deviations import UNWRITTEN
from opperf.rules.engine import arguments_by_role, uses_of
from opperf.rules.families import shapes as shared
from opperf.rules.families.indexing import ONE_INDEX, top_tokens
from opperf.rules.numpy.names import alike
from opperf.rules.registering import Families
from opperf.rules.shapes import MOSTLY_DISPATCH, column, cube, line, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, Arguments, below, call, fixed, tensors, transposed
from opperf.rules.variants import Variants, add_rows


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


def axis_roles(arr: Array, indices: Array, axis: int, **values: Array) -> dict[str, Any]:
    """Data, indices as long along other axes, and values to write, if any, with the axis last."""
    import numpy as np

    shape = (*arr.shape[:axis], indices.shape[axis], *arr.shape[axis + 1 :])
    made = {"data": arr, "indices": np.broadcast_to(indices, shape)} | values
    return {role: array.swapaxes(axis, -1) for role, array in made.items()}


def axis_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Matrices, indices along their last axis, and the values to write, where there are some."""
    made = {"arr": roles["data"], "indices": roles["indices"]}
    if "values" in roles:
        made["values"] = roles["values"]
    return {**made, "axis": 1}


def compress_roles(condition: Array, axis: int, a: Array) -> dict[str, Any]:
    """Data, and the indices along an axis where the condition holds."""
    return {"data": a, "indices": [i for i, one in enumerate(condition) if one], "axis": axis}


ROLES_OF_JOINED = "tensors=arrays|tup axis"
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
    "column_stack": use("column_stack", ROLES_OF_JOINED),
    "concatenate": use("concatenate", ROLES_OF_JOINED),
    "diag": use("diag", "x=v offset=k"),
    "diagflat": use("diagflat", "x=v"),
    "diagonal": use("diagonal", "x=a offset axis1 axis2"),
    "dsplit": split_along(2),
    "dstack": use("dstack", ROLES_OF_JOINED),
    "expand_dims": use("expand_dims", "x=a axis"),
    "flip": use("flip", "x=m axis"),
    "fliplr": use("flip", "x=m", axis=1),
    "flipud": use("flip", "x=m", axis=0),
    "hsplit": split_along(1),
    "hstack": use("hstack", ROLES_OF_JOINED),
    "linalg.diagonal": use("diagonal", "x offset", **OF_MATRICES),
    "linalg.matrix_transpose": use("swapaxes", "x", **OF_MATRICES),
    "matrix_transpose": use("swapaxes", "x", **OF_MATRICES),
    "moveaxis": use("moveaxis", "x=a source destination"),
    "pad": use("pad", "x=array widths=pad_width mode"),
    "repeat": use("repeat", "x=a times=repeats axis"),
    "reshape": use("reshape", "x=a shape=shape|newshape"),
    "roll": use("roll", roll_roles, to_arguments=roll_arguments),
    "rollaxis": use("rollaxis", "x=a axis start"),
    "rot90": use("rot90", "x=m times=k axes"),
    "split": split_along(0),
    "squeeze": use("squeeze", "x=a axis"),
    "stack": use("stack", ROLES_OF_JOINED),
    "swapaxes": use("swapaxes", "x=a axis1 axis2"),
    "tile": use("tile", "x=A times=reps"),
    "transpose": use("transpose", "x=a axes"),
    "tril": use("tril", "x=m offset=k"),
    "triu": use("triu", "x=m offset=k"),
    "vsplit": split_along(0),
    "vstack": use("vstack", ROLES_OF_JOINED),
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
    "put_along_axis": use("put_along_last", axis_roles, only_written_to("arr"), axis_arguments),
    "ravel_multi_index": use("ravel_multi_index", "indices=multi_index shape=dims"),
    "take": use("take", "data=a indices axis"),
    "take_along_axis": use(
        "take_along_last",
        axis_roles,
        lambda made, given: made.swapaxes(given["axis"], -1),
        axis_arguments,
    ),
    "where": use("where", "condition x y"),
    "unravel_index": use("unravel_index", "flat=indices shape", lambda made, _: tuple(made)),
}

OPERATIONS: Table = merge(SHAPES, INDEXING)


FAMILIES = Families()

NOT_FINITE = dict.fromkeys(("empty", "empty_like"), UNWRITTEN)
WORK = dict.fromkeys(NOT_FINITE, sizes.UNWRITTEN)


VIEWS = {
    "broadcast_to": "a column to a matrix, as a number for each row",
    "diagonal": "a matrix, as the variances of a covariance",
    "expand_dims": "a matrix, as a batch of one",
    "flip": "both axes of a matrix, as a kernel's before it is convolved",
    "moveaxis": "the first axis last, as the channels of an image to show",
    "reshape": "rows to heads, as BERT-large divides tokens",
    "rollaxis": "the last axis first, as the channels of a decoded image",
    "squeeze": "two axes of one element, as a reduction may leave them",
    "swapaxes": "the first two axes, as a batch and its time steps",
    "transpose": "a matrix, as a layer's weights",
}
"""Functions that return another view of the array's own elements, each with where it occurs."""


@FAMILIES.add(*VIEWS, replaces="a view takes the time of a call whatever the array: one row")
def view(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The first of the shared configurations: a view takes as long whatever the array."""
    use, _ = next(iter(uses_of(operator, SHAPES)))
    family = shared.FAMILIES.by_operation[use.operation]
    first = next(iter(arguments_by_role(operator, SHAPES, family, size)))
    occurs = next(VIEWS[name] for name in operator.names if name in VIEWS)
    yield {**first, WHY: f"{occurs}: a view, the time of the call"}


@FAMILIES.add("unstack")
def unstack(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A stack to split into matrices, and a matrix to split into columns."""
    yield {"x": fixed(*cube(size)), "axis": 0, WHY: "a stack to matrices, as a clip to frames"}
    yield {"x": fixed(*square(size)), "axis": 1, WHY: "a table to its columns, as features"}


UNTOUCHED = "int32"
"""Dtype of uninitialised arrays: floats may be NaN, and int32 is as large as the default dtype."""


BYTE = "uint8"


def as_it_is(size: Preset, name: str) -> Arguments:
    """An array that is returned as it is, or over the same memory."""
    why = f"an array as it is already, no copy: {MOSTLY_DISPATCH}"
    return {name: fixed(*square(size)), WHY: why, TAGS: (TINY,)}


ROWS: dict[str, Variants] = {
    "ravel": lambda size: [
        {"a": fixed(*square(size)), "order": order, WHY: why}
        for order, why in (
            ("C", "row by row, as before a dense layer: a view"),
            ("F", "column by column, as Fortran stores it: a copy against the order of memory"),
        )
    ],
    "copy": lambda size: {"a matrix, kept before it is changed": call(a=fixed(*square(size)))},
    "array": lambda size: {"a matrix, to own its data": call(object=fixed(*square(size)))},
    "asmatrix": lambda size: {"a matrix as it is: a view": call(data=fixed(*square(size)))},
    "asarray_chkfinite": lambda size: {"a matrix, before LAPACK": call(a=fixed(*square(size)))},
    "asfortranarray": lambda size: {
        "a matrix by columns, as LAPACK's": call(a=fixed(*square(size)))
    },
    "fastCopyAndTranspose": lambda size: {"a matrix by columns": call(a=fixed(*square(size)))},
    "resize": lambda size: {
        "twice the rows, the elements repeated, as a tiled texture": call(
            a=fixed(*square(size)), new_shape=(2 * square(size)[0], square(size)[1])
        )
    },
    "broadcast_arrays": lambda size: {
        "a column and a matrix, as before a loop of one's own: views": call(
            args=tensors([fixed(*column(size)), fixed(*tall(size))])
        )
    },
    "take_along_axis": lambda size: {ONE_INDEX: {**top_tokens(size, "arr"), "axis": 1}},
    "block": lambda size: {"three sources' features in a row": call(arrays=alike(square(size)))},
    "bmat": lambda size: {"matrices in a row, as MATLAB's [A B C]": call(obj=alike(square(size)))},
    "append": lambda size: [
        {"arr": fixed(*square(size)), "values": fixed(*square(size)), "axis": axis, WHY: why}
        for axis, why in (
            (None, "to one vector, as measurements gathered piece by piece: two flat copies"),
            (1, "columns beside columns, as new features: a copy for each row of both"),
        )
    ],
    "insert": lambda size: {
        why: call(arr=fixed(*square(size)), obj=1, values=fixed(square(size)[1 - axis]), axis=axis)
        for axis, why in (
            (0, "one row, as a record that came late: the rows after it are copied as one"),
            (1, "one column, as a feature of each sample: each row is copied in two parts"),
        )
    },
    "ones": lambda size: {
        "a byte for each pair, as a mask of those that are left to visit": call(
            shape=square(size), dtype=BYTE
        )
    },
    "zeros": lambda size: {
        "a black image of grey levels of eight bits, to be drawn to": call(
            shape=square(size), dtype=BYTE
        )
    },
    "full": lambda size: {
        "a grey image of eight bits, to be drawn to": call(
            shape=square(size), fill_value=128, dtype=BYTE
        )
    },
    "empty": lambda size: {"a buffer: not written to": call(shape=square(size), dtype=UNTOUCHED)},
    "geomspace": lambda size: {"two octaves of tones": call(start=1, stop=4, num=vector(size)[0])},
    "empty_like": lambda size: {
        "shaped as the input: not written to": call(prototype=fixed(*square(size)), dtype=UNTOUCHED)
    },
    "meshgrid": lambda size: {
        "a plane's points, for a surface": call(xi=tensors([fixed(side) for side in square(size)]))
    },
    "fromiter": lambda size: {
        "elements boxed as Python numbers": call(iter=fixed(*line(size)), dtype="float64")
    },
    "astype": lambda size: [
        {"x": fixed(*square(size), dtype=own), "dtype": to, WHY: why}
        for own, to, why in (
            ("float32", "float64", "single to double precision, as before a system is solved"),
            ("float64", "float32", "double precision to single, as data for a network"),
        )
    ],
    "packbits": lambda size: {
        "eight of a mask's flags to a byte": call(a=fixed(*vector(size), fill=BOOLEAN, dtype=BYTE))
    },
    "unpackbits": lambda size: {
        "a bitmap's byte to eight flags": call(a=fixed(*vector(size), fill=below(256), dtype=BYTE))
    },
    "frombuffer": lambda size: {
        "a message's memory as an array: a view": call(buffer=fixed(*vector(size)), dtype=BYTE)
    },
    **dict.fromkeys(("asanyarray", "asarray", "asfarray"), lambda size: [as_it_is(size, "a")]),
    "ascontiguousarray": lambda size: [
        as_it_is(size, "a"),
        {"a": transposed(fixed(*square(size))), WHY: "a transposed matrix, for a kernel: a copy"},
    ],
    "from_dlpack": lambda size: [as_it_is(size, "x")],
    "require": lambda size: [
        {"a": fixed(*square(size)), "dtype": None, "requirements": order, WHY: why}
        for order, why in (
            ("C", "by rows, as an extension in C wants it: no copy"),
            ("F", "by columns, as LAPACK wants it: a copy against the order of memory"),
        )
    ],
}
add_rows(FAMILIES.add, ROWS)
