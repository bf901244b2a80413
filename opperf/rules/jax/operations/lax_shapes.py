"""The functions of `jax.lax` that move, join, split, pad and convert elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Array, Roles, Table, Values, as_list, use
from opperf.rules.jax.operations.lax_elementwise import scalar, without_family


def shape_of(roles: Roles) -> tuple[int, ...]:
    """The shape of the tensor `x`."""
    x = roles["x"]
    assert isinstance(x, TensorSpec)
    return x.shape


def complete(shape: Sequence[int], count: int) -> tuple[int, ...]:
    """A shape of so many elements, with its extent of -1 replaced: `jax.lax` infers none."""
    known = math.prod(extent for extent in shape if extent >= 0)
    return tuple(count // known if extent < 0 else extent for extent in shape)


def reshape_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor, and all extents of its new shape."""
    shape = roles["shape"]
    assert isinstance(shape, tuple)
    count = math.prod(shape_of(roles))
    return {"operand": roles["x"], "new_sizes": complete(shape, count)}  # type: ignore[arg-type]


def reshape_roles(
    operand: Array, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None
) -> dict[str, Any]:
    """A tensor, with its axes in the order in which they are read, and its new shape."""
    x = operand if dimensions is None else operand.transpose(dimensions)
    return {"x": x, "shape": tuple(new_sizes)}


def collapse_roles(
    operand: Array, start_dimension: int, stop_dimension: int | None = None
) -> dict[str, Any]:
    """A tensor, and its shape with some axes joined."""
    stop = operand.ndim if stop_dimension is None else stop_dimension
    return {"x": operand, "shape": (*operand.shape[:start_dimension], -1, *operand.shape[stop:])}


def broadcast_roles(
    operand: Array, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> dict[str, Any]:
    """A tensor with axes of extent 1 between its own, and the shape to broadcast to."""
    extents = [1] * len(shape)
    for axis, extent in zip(broadcast_dimensions, operand.shape, strict=True):
        extents[axis] = extent
    return {"x": operand.reshape(extents), "shape": tuple(shape)}


def broadcast_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor, the shape, and the axis of it that each of the tensor's is."""
    axes = tuple(range(len(shape_of(roles))))
    return {"operand": roles["x"], "shape": roles["shape"], "broadcast_dimensions": axes}


def flip_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor and a list of axes, by default all."""
    axes = as_list(roles["axis"]) if "axis" in roles else tuple(range(len(shape_of(roles))))
    return {"operand": roles["x"], "dimensions": axes}


def squeeze_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor and a list of axes, by default all of extent 1."""
    single = tuple(axis for axis, extent in enumerate(shape_of(roles)) if extent == 1)
    return {"array": roles["x"], "dimensions": as_list(roles.get("axis", single))}


def expand_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor and a list of the new axes."""
    return {"array": roles["x"], "dimensions": as_list(roles["axis"])}


def transpose_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor and the order of its axes, by default reversed."""
    reverse = tuple(reversed(range(len(shape_of(roles)))))
    return {"operand": roles["x"], "permutation": roles.get("axes", reverse)}


Border = Sequence[tuple[int, int, int]]


def pad_roles(operand: Array, padding_value: Any, padding_config: Border) -> dict[str, Any]:
    """A tensor, with zeros between its elements where there are to be some, and the widths of its
    border of zeros."""
    assert float(padding_value) == 0.0
    steps = [1 + between for _, _, between in padding_config]
    spread = np.zeros(
        [(extent - 1) * step + 1 for extent, step in zip(operand.shape, steps, strict=True)]
    )
    spread[tuple(slice(None, None, step) for step in steps)] = operand
    widths = [(before, after) for before, after, _ in padding_config]
    return {"x": spread, "widths": widths, "mode": "constant"}


def pad_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor, zero, and the widths before, behind and between the elements of each axis; None for
    other modes."""
    widths = roles["widths"]
    assert isinstance(widths, tuple)
    if roles["mode"] != "constant":
        return None
    config = tuple((*pair, 0) for pair in widths)  # type: ignore[misc]
    return {"operand": roles["x"], "padding_value": scalar(0.0), "padding_config": config}


def split_roles(operand: Array, sizes: Sequence[int], axis: int = 0) -> dict[str, Any]:
    """A tensor, the axis, and where the parts but the first begin."""
    starts = tuple(int(end) for end in np.cumsum(sizes)[:-1])
    return {"x": operand, "axis": axis, "starts": starts}


def split_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor, and the extents of its parts along the first axis."""
    extent, parts, starts = shape_of(roles)[0], roles.get("parts"), roles.get("starts")
    if isinstance(parts, int):
        return {"operand": roles["x"], "sizes": (extent // parts,) * parts}
    assert isinstance(starts, tuple)
    return {"operand": roles["x"], "sizes": tuple(np.diff((0, *starts, extent)).tolist())}  # type: ignore[arg-type]


def slice_roles(
    operand: Array, start_index: int, limit_index: int, stride: int = 1, axis: int = 0
) -> dict[str, Any]:
    """A tensor, and a slice of each axis, of all but one the whole."""
    shape = operand.shape

    def at(value: int, others: Sequence[int]) -> tuple[int, ...]:
        return (*others[:axis], value, *others[axis + 1 :])

    return {
        "data": operand,
        "begin": at(start_index, [0] * operand.ndim),
        "end": at(limit_index, shape),
        "step": at(stride, [1] * operand.ndim),
    }


def bitcast_roles(operand: Array, new_dtype: Any) -> dict[str, Any]:
    """A tensor, and the name of another dtype for the bits that it has in single precision:
    the numbers are exact in double, but have other bits there."""
    single = operand.astype(np.float32) if operand.dtype.kind == "f" else operand
    return {"x": single, "dtype": np.dtype(new_dtype).name}


def in_parts(made: Array, arguments: Values) -> Array:
    """The parts of each element along a new last axis, where a dtype is narrower."""
    shape = arguments["operand"].shape
    return made if made.shape == shape else made.reshape(*shape, -1)


TABLE: Table = {
    "lax.bitcast_convert_type": use("bitcast", bitcast_roles, in_parts),
    "lax.broadcast": use(
        "broadcast", lambda operand, sizes: {"x": operand, "shape": (*sizes, *operand.shape)}
    ),
    "lax.broadcast_like": use("broadcast_like", "x=arr like=like_arr"),
    "lax.broadcast_in_dim": use("broadcast", broadcast_roles, to_arguments=broadcast_arguments),
    "lax.broadcast_to_rank": use(
        "reshape",
        lambda x, rank: {"x": x, "shape": (1,) * (rank - x.ndim) + x.shape},
        to_arguments=without_family,
    ),
    "lax.collapse": use("reshape", collapse_roles, to_arguments=without_family),
    "lax.concatenate": use("concatenate", "tensors=operands axis=dimension"),
    "lax.convert_element_type": use("cast", "x=operand dtype=new_dtype"),
    "lax.expand_dims": use("expand_dims", "x=array axis=dimensions", to_arguments=expand_arguments),
    "lax.pad": use("pad", pad_roles, to_arguments=pad_arguments),
    "lax.reshape": use("reshape", reshape_roles, to_arguments=reshape_arguments),
    "lax.rev": use("flip", "x=operand axis=dimensions", to_arguments=flip_arguments),
    "lax.slice": use("slice", "data=operand begin=start_indices end=limit_indices step=strides"),
    "lax.slice_in_dim": use("slice", slice_roles, to_arguments=without_family),
    "lax.split": use("split", split_roles, to_arguments=split_arguments),
    "lax.stack": use("stack", "tensors=operands axis"),
    "lax.squeeze": use("squeeze", "x=array axis=dimensions", to_arguments=squeeze_arguments),
    "lax.tile": use("tile", "x=operand times=reps"),
    "lax.transpose": use(
        "transpose", "x=operand axes=permutation", to_arguments=transpose_arguments
    ),
    "lax.unstack": use("unstack", "x axis"),
}
