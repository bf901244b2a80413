"""MXNet's operators that lay elements out anew."""

from __future__ import annotations

from typing import Any

from opperf.model import Argument, Operator
from opperf.operations.uses import Roles, Table, merged, use
from opperf.rules.shapes import LIST_LENGTH


def reshaped(data: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """A shape in which 0 keeps the extent that is there."""
    kept = [data.shape[i] if extent == 0 else extent for i, extent in enumerate(shape)]
    return {"x": data, "shape": kept}


def bordered(data: Any, mode: str, pad_width: Any) -> dict[str, Any]:
    """Widths before and after each axis, in one row or a pair for each."""
    flat = [width for pair in pad_width for width in (pair if isinstance(pair, tuple) else (pair,))]
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    return {"x": data, "mode": mode, "widths": pairs}


def parts(
    data: Any,
    indices: tuple[int, ...] = (),
    axis: int = 1,
    sections: int = 0,
    num_outputs: int = 0,
) -> dict[str, Any]:
    """Equal parts, or parts that begin where said, the first of them at zero."""
    return {
        "x": data,
        "axis": axis,
        "parts": sections or num_outputs,
        "starts": tuple(indices[1:]),
    }


def cropped(
    data: list[Any], offset: Any = (0, 0), h_w: Any = None, center_crop: Any = 0
) -> dict[str, Any]:
    """An offset, or from the middle to another image's size."""
    size = h_w or data[1].shape[2:]
    if center_crop:
        offset = [
            (all_of - part) // 2 for all_of, part in zip(data[0].shape[2:], size, strict=True)
        ]
    return {"data": data[0], "offset": tuple(offset), "size": tuple(size)}


def joined(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Tensors and their axis. NumPy's operator declares `dim` and takes `axis`."""
    name = "axis" if operator.name.startswith("_npi_") else "dim"
    return {"data": roles["tensors"], name: roles["axis"]}


SPLIT = use("split", parts)
PAD = use("pad", bordered)
REPEAT = use("repeat", "x=data times=repeats axis")
BROADCAST = use("broadcast", "x=data|array shape")
CONCATENATE = use("concatenate", "tensors=data axis=axis|dim", spell=joined)
FLIP = use("flip", "x=data axis")

RENAMED = {
    "atleast_1d": use("atleast_1d", "tensors=arys"),
    "atleast_2d": use("atleast_2d", "tensors=arys"),
    "atleast_3d": use("atleast_3d", "tensors=arys"),
    "diag": use("diag", "x=data offset=k"),
    "diagflat": use("diagflat", "x=data"),
    "diagonal": use("diagonal", "x=data axis1 axis2"),
    "moveaxis": use("moveaxis", "x=a source destination"),
    "roll": use("roll", "x=data shift axis"),
    "squeeze": use("squeeze", "x=data|a axis"),
    "transpose": use("transpose", "x=data|a axes"),
}
"""Operators that MXNet 1 has as `_np_` and MXNet 2 as `_npi_`."""

TABLE: Table = merged(
    {f"_np_{name}": one for name, one in RENAMED.items()},
    {f"_npi_{name}": one for name, one in RENAMED.items()},
    {
        "Cast": use("cast", "x=data dtype"),
        "Concat": CONCATENATE,
        "Crop": use("crop", cropped),
        "Flatten": use("flatten", "x=data"),
        "Pad": PAD,
        "Reshape": use("reshape", reshaped),
        "SliceChannel": SPLIT,
        "SwapAxis": use("swapaxes", "x=data axis1=dim1 axis2=dim2"),
        "_contrib_arange_like": use("like_counted", "x=data axis"),
        "_contrib_dynamic_reshape": use("reshape", "x=data shape"),
        "_contrib_index_array": use("indices_of_elements", "x=data axes"),
        "_npi_broadcast_to": BROADCAST,
        "_npi_column_stack": use("column_stack", "tensors=data"),
        "_npi_concatenate": CONCATENATE,
        "_npi_diag_indices_from": use("diag_indices_from", "x=data"),
        "_npi_dsplit": SPLIT,
        "_npi_dstack": use("dstack", "tensors=data"),
        "_npi_flip": FLIP,
        "_npi_hsplit": SPLIT,
        "_npi_hstack": use("hstack", "tensors=data"),
        "_npi_pad": PAD,
        "_npi_repeats": REPEAT,
        "_npi_rollaxis": use("rollaxis", "x=data axis start"),
        "_npi_rot90": use("rot90", "x=data times=k axes"),
        "_npi_stack": use("stack", "tensors=data axis"),
        "_npi_tril": use("tril", "x=data"),
        "_npi_triu": use("triu", "x=data"),
        "_npi_vstack": use("vstack", "tensors=data"),
        "_npx_reshape": use("reshape", "x=a shape=newshape"),
        "_rnn_param_concat": use(
            "concatenate", "tensors=data -num_args", also={"num_args": LIST_LENGTH}, axis=1
        ),
        "_split_v2": SPLIT,
        "amp_cast": use("cast", "x=data dtype"),
        "broadcast_axis": use("broadcast_axes", "x=data axis extents=size"),
        "broadcast_like": use("broadcast_like", "x=lhs like=rhs"),
        "broadcast_to": BROADCAST,
        "depth_to_space": use("depth_to_space", "data block=block_size"),
        "diag": RENAMED["diag"],
        "expand_dims": use("expand_dims", "x=data axis"),
        "repeat": REPEAT,
        "reshape_like": use("reshape_like", "x=lhs like=rhs"),
        "reverse": FLIP,
        "shape_array": use("shape", "x=data"),
        "size_array": use("size", "x=data"),
        "space_to_depth": use("space_to_depth", "data block=block_size"),
        "squeeze": RENAMED["squeeze"],
        "stack": use("stack", "tensors=data axis"),
        "tile": use("tile", "x=data times=reps"),
        "transpose": RENAMED["transpose"],
    },
)
