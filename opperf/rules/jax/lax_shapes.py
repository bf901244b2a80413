"""Families of functions of `jax.lax` that move, slice, broadcast, pad and convert elements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Array, Roles, Table, Values, as_list, use
from opperf.rules.bert import few_sentences, layer_width, scores
from opperf.rules.configurations import WHY
from opperf.rules.families.indexing import mask, only_slice
from opperf.rules.families.shapes import PER_UNIT, POOLED
from opperf.rules.image_shapes import feature_maps
from opperf.rules.jax.lax_elementwise import omitted, scalar
from opperf.rules.registering import Families
from opperf.rules.shapes import MOSTLY_DISPATCH, square
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, call, tensor
from opperf.rules.variants import Variants, add_rows


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


def order_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor and the order of its axes, by default reversed."""
    reverse = tuple(reversed(range(len(shape_of(roles)))))
    return {"operand": roles["x"], "permutation": roles.get("axes", reverse)}


Border = Sequence[tuple[int, int, int]]


def pad_roles(operand: Array, padding_value: Any, padding_config: Border) -> dict[str, Any]:
    """A tensor, with zeros between its elements, and the widths of its border of zeros."""
    assert float(padding_value) == 0.0
    steps = [1 + between for _, _, between in padding_config]
    spread = np.zeros([(n - 1) * step + 1 for n, step in zip(operand.shape, steps, strict=True)])
    spread[tuple(slice(None, None, step) for step in steps)] = operand
    widths = [(before, after) for before, after, _ in padding_config]
    return {"x": spread, "widths": widths, "mode": "constant"}


def pad_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor, zero, and the widths of each axis; None for other modes."""
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


def slice_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor and the slice of one axis; None for slices of several."""
    part = only_slice(roles)
    if part is None:
        return None
    axis, start, end, step = part
    cut = {"start_index": start, "limit_index": end, "stride": step, "axis": axis}
    return {"operand": roles["data"], **cut}


def bitcast_roles(operand: Array, new_dtype: Any) -> dict[str, Any]:
    """A tensor, and the name of another dtype for the bits that it has in single precision:
    the numbers are exact in double, but have other bits there."""
    single = operand.astype(np.float32) if operand.dtype.kind == "f" else operand
    return {"x": single, "dtype": np.dtype(new_dtype).name}


def in_parts(made: Array, arguments: Values) -> Array:
    """The parts of each element along a new last axis, where a dtype is narrower."""
    shape = arguments["operand"].shape
    return made if made.shape == shape else made.reshape(*shape, -1)


OPERATIONS: Table = {
    "lax.bitcast_convert_type": use("bitcast", bitcast_roles, in_parts),
    "lax.broadcast": use(
        "broadcast", lambda operand, sizes: {"x": operand, "shape": (*sizes, *operand.shape)}
    ),
    "lax.broadcast_like": use("broadcast_like", "x=arr like=like_arr"),
    "lax.broadcast_in_dim": use("broadcast", broadcast_roles, to_arguments=broadcast_arguments),
    "lax.broadcast_to_rank": use(
        "reshape",
        lambda x, rank: {"x": x, "shape": (1,) * (rank - x.ndim) + x.shape},
        to_arguments=omitted,
    ),
    "lax.collapse": use("reshape", collapse_roles, to_arguments=omitted),
    "lax.concatenate": use("concatenate", "tensors=operands axis=dimension"),
    "lax.convert_element_type": use("cast", "x=operand dtype=new_dtype"),
    "lax.expand_dims": use("expand_dims", "x=array axis=dimensions", to_arguments=omitted),
    "lax.pad": use("pad", pad_roles, to_arguments=pad_arguments),
    "lax.reshape": use("reshape", reshape_roles, to_arguments=reshape_arguments),
    "lax.rev": use("flip", "x=operand axis=dimensions", to_arguments=flip_arguments),
    "lax.slice": use("slice", "data=operand begin=start_indices end=limit_indices step=strides"),
    "lax.slice_in_dim": use("slice", slice_roles, to_arguments=slice_arguments),
    "lax.split": use("split", split_roles, to_arguments=split_arguments),
    "lax.stack": use("stack", "tensors=operands axis"),
    "lax.squeeze": use("squeeze", "x=array axis=dimensions", to_arguments=omitted),
    "lax.tile": use("tile", "x=operand times=reps"),
    "lax.transpose": use("transpose", "x=operand axes=permutation", to_arguments=order_arguments),
    "lax.unstack": use("unstack", "x axis"),
}


FAMILIES = Families()


@FAMILIES.add("lax.broadcast")
def broadcast(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor, and extents of new first axes."""
    rows, columns = square(size)
    yield {"operand": tensor(columns), "sizes": (rows,), WHY: PER_UNIT}
    why = "one mask of attention to all sentences and heads, as booleans"
    yield {"operand": mask(scores(size)[2:]), "sizes": scores(size)[:2], WHY: why}


@FAMILIES.add("lax.broadcast_to_rank")
def broadcast_to_rank(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor that gains first axes of extent 1."""
    yield {"x": tensor(*square(size)), "rank": 4, WHY: "a matrix to the rank of feature maps"}
    bias = tensor(square(size)[1])
    yield {"x": bias, "rank": 2, WHY: f"a vector to the rank of a matrix: {MOSTLY_DISPATCH}"}


@FAMILIES.also("lax.reshape")
def reshape_transposed(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix read column by column, like Fortran's order: a transposition too."""
    rows, columns = square(size)
    yield {"operand": tensor(rows, columns), "new_sizes": (rows * columns,), "dimensions": (1, 0)}


SAME_ORDER: dict[str, Variants] = {
    "lax.collapse": lambda size: {
        "sentences and tokens to one axis, before a dense layer: a copy": call(
            operand=tensor(*few_sentences(size)), start_dimension=0, stop_dimension=2
        )
    },
    "lax.expand_dims": lambda size: {
        "a sample to a batch of one: a copy": call(array=tensor(*square(size)), dimensions=(0,))
    },
    "lax.squeeze": lambda size: {
        "ResNet-50's last features": call(array=tensor(size.batch, POOLED, 1, 1), dimensions=(2, 3))
    },
}
"""Functions that leave elements in their order, whatever the axes."""

add_rows(FAMILIES.add, SAME_ORDER, replaces="XLA compiles all shapes to the same copy")


@FAMILIES.also("lax.pad")
def pad_between(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Zeros between the elements of feature maps, and a border that is cut off."""
    maps = tensor(*feature_maps(size))
    for border, why in (
        ((1, 1, 1), "zeros between pixels, as a strided convolution's backward pass"),
        ((-1, -1, 0), "the outermost pixels cut off: negative widths"),
    ):
        config = ((0, 0, 0), (0, 0, 0), border, border)
        yield {"operand": maps, "padding_value": scalar(0.0), "padding_config": config, WHY: why}


@FAMILIES.also("jnp.astype", "lax.convert_element_type")
def convert(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors and another dtype."""
    weights = tensor(layer_width(size), 4 * layer_width(size))
    for operand, dtype, why in (
        (weights, "bfloat16", "a layer's weights to bfloat16, for mixed precision"),
        (
            tensor(*square(size), dtype="bfloat16"),
            "float32",
            "bfloat16 to float32, as before a loss",
        ),
    ):
        names = ("x", "dtype") if operator.name == "jnp.astype" else ("operand", "new_dtype")
        yield {**dict(zip(names, (operand, dtype), strict=True)), WHY: why}


@FAMILIES.add("lax.bitcast_convert_type")
def bitcast(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix of single precision, and a dtype for its bits: no NaN can come of integers."""
    for dtype, why in (
        ("int32", "bits as integers of the same width, as to take the exponent out"),
        ("uint16", "each number in two halves, as to split it for bfloat16 products"),
    ):
        yield {"operand": tensor(*square(size), dtype="float32"), "new_dtype": dtype, WHY: why}
