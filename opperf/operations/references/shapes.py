"""Operations that lay elements out anew: shapes, orders of axes, joining and splitting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opperf.operations.references.reference import Array, Shape, references


def depth_to_space(data: Array, block: int) -> Array:
    """Channels laid out as blocks, as ONNX's DepthToSpace in its default order."""
    n, c, h, w = data.shape
    b = block
    blocks = data.reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    return blocks.reshape(n, c // b**2, h * b, w * b)


def space_to_depth(data: Array, block: int) -> Array:
    """Blocks laid out as channels, as ONNX's SpaceToDepth."""
    n, c, h, w = data.shape
    b = block
    blocks = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return blocks.reshape(n, c * b**2, h // b, w // b)


def pad(x: Array, widths: Any, mode: str) -> Array:
    """A border, its widths before and after each axis: each element of the result comes from a
    place of the tensor, or is zero."""
    made = x
    for axis, (before, after) in enumerate(widths):
        extent = x.shape[axis]
        places = np.arange(-before, extent + after)
        inside = np.take(made, PLACES[mode](places, extent), axis)
        if mode == "constant":
            outside = (places < 0) | (places >= extent)
            inside[(slice(None),) * axis + (outside,)] = 0
        made = inside
    return made


PLACES: dict[str, Callable[[Array, int], Array]] = {
    "constant": lambda places, extent: places % extent,
    "edge": lambda places, extent: np.minimum(np.maximum(places, 0), extent - 1),
    "reflect": lambda places, extent: extent - 1 - abs(extent - 1 - abs(places)),
    "symmetric": lambda places, extent: np.where(
        places < 0, -places - 1, np.where(places >= extent, 2 * extent - 1 - places, places)
    ),
    "wrap": lambda places, extent: places % extent,
}
"""Where in the tensor the elements of an axis of the padded one come from."""


def split(x: Array, axis: int, parts: int = 0, starts: Shape = ()) -> tuple[Array, ...]:
    """Equal parts, or parts of which all but the first begin at `starts`."""
    extent = x.shape[axis]
    edges = [0, *starts] if not parts else [i * extent // parts for i in range(parts)]
    ends = [*edges[1:], extent]
    rows = np.moveaxis(x, axis, 0)
    return tuple(np.moveaxis(rows[a:b], 0, axis) for a, b in zip(edges, ends, strict=True))


def joined(tensors: list[Array], axis: int) -> Array:
    """Tensors one after the other along an axis, each written to its place."""
    extents = [tensor.shape[axis] for tensor in tensors]
    shape = list(tensors[0].shape)
    shape[axis] = sum(extents)
    made = np.empty(shape, np.result_type(*tensors))
    rows = np.moveaxis(made, axis, 0)
    start = 0
    for tensor, extent in zip(tensors, extents, strict=True):
        rows[start : start + extent] = np.moveaxis(tensor, axis, 0)
        start += extent
    return made


def stacked(tensors: list[Array], axis: int) -> Array:
    """Tensors one after the other along a new axis."""
    return joined([np.expand_dims(tensor, axis) for tensor in tensors], axis)


def crop(data: Array, offset: Shape, size: Shape) -> Array:
    """Images cut out at an offset."""
    (top, left), (height, width) = offset, size
    return data[:, :, top : top + height, left : left + width]


def roll(x: Array, shift: Shape, axis: Shape | None = None) -> Array:
    """Elements moved on, those at the end to the front."""
    if axis is None:
        (distance,) = shift
        return x.ravel()[(np.arange(x.size) - distance) % x.size].reshape(x.shape)
    for distance, one in zip(shift, axis, strict=True):
        x = np.take(x, (np.arange(x.shape[one]) - distance) % x.shape[one], one)
    return x


def repeat(x: Array, times: Any, axis: int | None = None) -> Array:
    """Each element repeated, by one number or by one for each element."""
    rows, along = (x.ravel(), 0) if axis is None else (x, axis)
    counts = np.broadcast_to(times, rows.shape[along])
    return np.take(rows, [i for i, count in enumerate(counts) for _ in range(count)], along)


def tile(x: Array, times: Shape) -> Array:
    """Copies of the whole tensor along each axis, or along the last ones."""
    x = x.reshape((1,) * (len(times) - x.ndim) + x.shape)
    for axis, count in enumerate(times, x.ndim - len(times)):
        x = joined([x] * count, axis)
    return x


def broadcast(x: Array, shape: Shape) -> Array:
    """Repeated to a shape."""
    return x * np.ones(shape, dtype=x.dtype)


def broadcast_axes(x: Array, axis: Shape, extents: Shape) -> Array:
    """Axes of one element repeated."""
    shape = list(x.shape)
    for one, extent in zip(axis, extents, strict=True):
        shape[one] = extent
    return broadcast(x, tuple(shape))


def diagonal(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The elements whose second index is the first one and an offset, in the last axis."""
    matrices = np.moveaxis(x, (axis1, axis2), (-2, -1))
    rows = [i for i in range(matrices.shape[-2]) if 0 <= i + offset < matrices.shape[-1]]
    return stacked([matrices[..., i, i + offset] for i in rows], -1)


def diag(x: Array, offset: int = 0) -> Array:
    """The diagonal of a matrix, or the matrix that has a vector on its diagonal."""
    if x.ndim > 1:
        return diagonal(x, offset)
    order = len(x) + abs(offset)
    made = np.zeros((order, order), x.dtype)
    for i, one in enumerate(x):
        made[i + max(-offset, 0), i + max(offset, 0)] = one
    return made


def triangle(x: Array, keeps: Callable[[Array, Array], Array]) -> Array:
    """Zeros except where the row's and the column's index satisfy a condition."""
    rows, columns = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
    return np.where(keeps(rows, columns), x, 0)


def flip(x: Array, axis: Any = None) -> Array:
    """Elements from last to first, along every axis by default."""
    for one in range(x.ndim) if axis is None else np.atleast_1d(axis):
        x = np.take(x, range(x.shape[one] - 1, -1, -1), int(one))
    return x


def rot90(x: Array, times: int, axes: Shape = (0, 1)) -> Array:
    """Turned from the first axis towards the second, a quarter at a time."""
    for _ in range(times % 4):
        x = flip(np.swapaxes(x, *axes), axes[0])
    return x


def squeeze(x: Array, axis: int | Shape | None = None) -> Array:
    """Without axes of one element."""
    axes = range(x.ndim) if axis is None else [one % x.ndim for one in np.atleast_1d(axis)]
    kept = [e for i, e in enumerate(x.shape) if e != 1 or i not in axes]
    return x.reshape(kept)


def like_counted(x: Array, axis: int | None = None) -> Array:
    """0, 1, 2, ... in a tensor's shape, or along one of its axes."""
    if axis is None:
        return np.arange(x.size, dtype=float).reshape(x.shape)
    return np.arange(x.shape[axis], dtype=float)


def positions(x: Array, axes: Shape | None = None) -> Array:
    """The index of each element, on some of the axes."""
    every = np.stack(list(np.indices(x.shape)), axis=-1)
    return every if axes is None else every[..., list(axes)]


def columns(tensors: list[Array]) -> Array:
    """Vectors side by side, as the columns of a matrix; matrices side by side."""
    return joined([one[:, None] if one.ndim == 1 else one for one in tensors], 1)


def each(function: Callable[[Array], Array]) -> Callable[..., tuple[Array, ...]]:
    """An operation that treats the tensors of a list one by one."""
    return lambda tensors: tuple(function(one) for one in tensors)


def at_least_3d(x: Array) -> Array:
    """Vectors get an axis before and one behind, matrices one behind."""
    return x.reshape((1, *x.shape, 1) if x.ndim == 1 else x.shape + (1,) * (3 - x.ndim))


REFERENCES = references(
    {
        "atleast_1d": each(lambda x: x.reshape(x.shape or (1,))),
        "atleast_2d": each(lambda x: x.reshape((1,) * (2 - x.ndim) + x.shape)),
        "atleast_3d": each(at_least_3d),
        "broadcast": broadcast,
        "broadcast_axes": broadcast_axes,
        "broadcast_like": lambda x, like: broadcast(x, like.shape),
        "cast": lambda x, dtype: x.astype(dtype),
        "column_stack": columns,
        "concatenate": joined,
        "crop": crop,
        "depth_to_space": depth_to_space,
        "diag": diag,
        "diagflat": lambda x: diag(x.ravel()),
        "diag_indices_from": lambda x: np.stack([np.arange(len(x))] * x.ndim),
        "diagonal": diagonal,
        "dstack": lambda tensors: joined([at_least_3d(one) for one in tensors], 2),
        "expand_dims": lambda x, axis: np.expand_dims(x, axis),
        "flatten": lambda x: x.reshape(len(x), -1),
        "flip": flip,
        "hstack": lambda tensors: joined(tensors, min(tensors[0].ndim - 1, 1)),
        "indices_of_elements": positions,
        "like_counted": like_counted,
        "moveaxis": lambda x, source, destination: np.moveaxis(x, source, destination),
        "pad": pad,
        "repeat": repeat,
        "reshape": lambda x, shape: x.reshape(shape),
        "reshape_like": lambda x, like: x.reshape(like.shape),
        "roll": roll,
        "rollaxis": lambda x, axis, start=0: np.rollaxis(x, axis, start),
        "rot90": rot90,
        "shape": lambda x: np.array(x.shape),
        "size": lambda x: np.array([x.size]),
        "space_to_depth": space_to_depth,
        "split": split,
        "squeeze": squeeze,
        "stack": stacked,
        "swapaxes": lambda x, axis1, axis2: np.swapaxes(x, axis1, axis2),
        "tile": tile,
        "transpose": lambda x, axes=None: x.transpose(axes),
        "tril": lambda x, offset=0: triangle(x, lambda row, column: column <= row + offset),
        "triu": lambda x, offset=0: triangle(x, lambda row, column: column >= row + offset),
        "vstack": lambda tensors: joined([one.reshape(-1, one.shape[-1]) for one in tensors], 0),
    }
)
