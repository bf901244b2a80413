"""MXNet's operators that rearrange, repeat, join or split elements."""

from __future__ import annotations

from typing import Any

from opperf.model import Argument, Operator
from opperf.operations.uses import Roles, Table, Use, as_list, merge, use


def reshape_roles(data: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """A tensor and its new shape, in which MXNet's 0 stands for the old extent."""
    kept = [data.shape[i] if extent == 0 else extent for i, extent in enumerate(shape)]
    return {"x": data, "shape": kept}


def pad_roles(data: Any, mode: str, pad_width: Any) -> dict[str, Any]:
    """A tensor, the mode, and pairs of widths, before and after each axis, from MXNet's flat list
    of them."""
    pairs = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    return {"x": data, "mode": mode, "widths": pairs}


def split_roles(
    data: Any,
    indices: tuple[int, ...] = (),
    axis: int = 1,
    sections: int = 0,
    num_outputs: int = 0,
) -> dict[str, Any]:
    """A tensor, the axis, and a number of equal parts or the starts of all parts but the first,
    which MXNet's list has too."""
    return {
        "x": data,
        "axis": axis,
        "parts": sections or num_outputs,
        "starts": tuple(indices[1:]),
    }


def crop_roles(
    data: list[Any], offset: Any = (0, 0), h_w: Any = None, center_crop: Any = 0
) -> dict[str, Any]:
    """Images, the size to cut out, which may be another image's, and its offset."""
    size = h_w or data[1].shape[2:]
    if center_crop:
        offset = [
            (all_of - part) // 2 for all_of, part in zip(data[0].shape[2:], size, strict=True)
        ]
    return {"data": data[0], "offset": tuple(offset), "size": tuple(size)}


def concatenate_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Tensors and the axis, which `_npi_concatenate` declares as `dim` and takes as `axis`."""
    name = "axis" if operator.name.startswith("_npi_") else "dim"
    return {"data": roles["tensors"], name: roles["axis"]}


def flip_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor and a list of axes; None without axes, which these operators require."""
    return {"data": roles["x"], "axis": as_list(roles["axis"])} if "axis" in roles else None


def split_along(axis: int) -> Use:
    """The use of an operator that splits along a fixed axis."""

    def arguments_of(operator: Operator, roles: Roles) -> dict[str, Argument]:
        starts = roles.get("starts")
        cuts: Roles = {"indices": (0, *starts)} if isinstance(starts, tuple) else {"indices": ()}
        equal: Roles = {"sections": roles["parts"]} if "parts" in roles else {}
        return {"data": roles["x"], **cuts, "axis": axis, **equal}

    return use("split", split_roles, to_arguments=arguments_of)


SPLIT = use("split", split_roles)
RESHAPE = use("reshape", "x=a shape=newshape")
REPEAT = use("repeat", "x=data times=repeats axis")
BROADCAST = use("broadcast", "x=data|array shape")
CONCATENATE = use("concatenate", "tensors=data axis=axis|dim", to_arguments=concatenate_arguments)
FLIP = use("flip", "x=data axis", to_arguments=flip_arguments)

RENAMED = {
    "atleast_1d": use("atleast_1d", "tensors=arys"),
    "atleast_2d": use("atleast_2d", "tensors=arys"),
    "atleast_3d": use("atleast_3d", "tensors=arys"),
    "diag": use("diag", "x=data offset=k"),
    "diagflat": use("diagflat", "x=data"),
    "diagonal": use("diagonal", "x=data offset axis1 axis2"),
    "moveaxis": use("moveaxis", "x=a source destination"),
    "roll": use("roll", "x=data shift axis"),
    "squeeze": use("squeeze", "x=data|a axis"),
    "transpose": use("transpose", "x=data|a axes"),
}
"""Operators that have the prefix `_np_` in MXNet 1 and `_npi_` in MXNet 2."""

TABLE: Table = merge(
    {f"_np_{name}": one for name, one in RENAMED.items()},
    {f"_npi_{name}": one for name, one in RENAMED.items()},
    {
        "Cast": use("cast", "x=data dtype"),
        "Concat": CONCATENATE,
        "Crop": use("crop", crop_roles),
        "Flatten": use("flatten", "x=data"),
        "Pad": use("pad", pad_roles),
        "Reshape": use("reshape", reshape_roles),
        "SliceChannel": SPLIT,
        "SwapAxis": use("swapaxes", "x=data axis1=dim1 axis2=dim2"),
        "_contrib_arange_like": use("arange_like", "x=data axis"),
        "_contrib_dynamic_reshape": use("reshape", "x=data shape"),
        "_contrib_index_array": use("indices_of_elements", "x=data axes"),
        "_npi_broadcast_to": BROADCAST,
        "_npi_column_stack": use("column_stack", "tensors=data"),
        "_npi_concatenate": CONCATENATE,
        "_npi_diag_indices_from": use("diag_indices_from", "x=data"),
        "_npi_dsplit": split_along(2),
        "_npi_dstack": use("dstack", "tensors=data"),
        "_npi_flip": FLIP,
        "_npi_hsplit": split_along(1),
        "_npi_hstack": use("hstack", "tensors=data"),
        "_npi_pad": use("pad", "x=data widths=pad_width mode"),
        "_npi_repeats": REPEAT,
        "_npi_rollaxis": use("rollaxis", "x=data axis start"),
        "_npi_rot90": use("rot90", "x=data times=k axes", also={"axes": (0, 1)}),
        "_npi_stack": use("stack", "tensors=data axis"),
        "_npi_tril": use("tril", "x=data offset=k"),
        "_npi_triu": use("triu", "x=data offset=k"),
        "_npi_vstack": use("vstack", "tensors=data"),
        "_np_reshape": RESHAPE,
        "_npx_reshape": RESHAPE,
        "_rnn_param_concat": use("concatenate", "tensors=data axis=dim -num_args"),
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
