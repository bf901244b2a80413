"""Operations that rearrange, repeat, join or split elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from opperf.operations.references.reference import Array, Functions, Shape


def depth_to_space(data: Array, block: int) -> Array:
    """Channels rearranged as blocks: ONNX's DepthToSpace in its default order."""
    n, c, h, w = data.shape
    b = block
    blocks = data.reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    return blocks.reshape(n, c // b**2, h * b, w * b)


def space_to_depth(data: Array, block: int) -> Array:
    """Blocks rearranged as channels: ONNX's SpaceToDepth."""
    n, c, h, w = data.shape
    b = block
    blocks = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return blocks.reshape(n, c * b**2, h // b, w // b)


def pixel_shuffle(data: Array, block: int) -> Array:
    """Channels rearranged as blocks, those of one block next to each other: ONNX's DepthToSpace in
    the order CRD (Shi et al., "Real-time single image and video super-resolution", 2016)."""
    n, c, h, w = data.shape
    b = block
    blocks = data.reshape(n, c // b**2, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return blocks.reshape(n, c // b**2, h * b, w * b)


def pixel_unshuffle(data: Array, block: int) -> Array:
    """Blocks rearranged as channels: the reverse of `pixel_shuffle`."""
    n, c, h, w = data.shape
    b = block
    blocks = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 1, 3, 5, 2, 4)
    return blocks.reshape(n, c * b**2, h // b, w // b)


def channel_shuffle(data: Array, groups: int) -> Array:
    """Channels in turn from each group of neighbours (Zhang et al., "ShuffleNet", 2018)."""
    split = data.reshape(len(data), groups, -1, *data.shape[2:])
    return split.swapaxes(1, 2).reshape(data.shape)


def pad(x: Array, widths: Any, mode: str) -> Array:
    """The tensor with borders of `widths`; a negative one removes rows."""
    made = x
    for axis, (before, after) in enumerate(widths):
        rows = np.moveaxis(made, axis, 0)
        rows = rows[max(-before, 0) : len(rows) - max(-after, 0)]
        before, after = max(before, 0), max(after, 0)
        if mode in INDICES:
            extent = len(rows)
            rows = rows[INDICES[mode](np.arange(-before, extent + after), extent)]
        else:
            first, last = (
                BORDERS[mode](*border) for border in ((rows, before), (rows[::-1], after))
            )
            rows = np.concatenate([first, rows, last[::-1]])
        made = np.moveaxis(rows, 0, axis)
    return made


INDICES: dict[str, Callable[[Array, int], Array]] = {
    "edge": lambda indices, extent: np.minimum(np.maximum(indices, 0), extent - 1),
    "reflect": lambda indices, extent: extent - 1 - abs(extent - 1 - abs(indices)),
    "symmetric": lambda indices, extent: np.where(
        indices < 0, -indices - 1, np.where(indices >= extent, 2 * extent - 1 - indices, indices)
    ),
    "wrap": lambda indices, extent: indices % extent,
}
"""By mode, the index in the tensor of each element along an axis of the padded one."""


def repeated(statistic: Callable[..., Array]) -> Callable[[Array, int], Array]:
    """As many rows, all of them a statistic of the tensor's rows."""
    return lambda rows, width: np.repeat(statistic(rows, axis=0, keepdims=True), width, 0)


def ramp(rows: Array, width: int) -> Array:
    """Rows that rise from zero towards the first one."""
    return rows[:1] * (np.arange(width) / max(width, 1)).reshape(-1, *[1] * (rows.ndim - 1))


BORDERS: dict[str, Callable[[Array, int], Array]] = {
    "constant": lambda rows, width: np.zeros((width, *rows.shape[1:])),
    "linear_ramp": ramp,
    "maximum": repeated(np.max),
    "mean": repeated(np.mean),
    "median": repeated(np.median),
    "minimum": repeated(np.min),
}
"""By mode, a border of some width before the first row."""


def split(x: Array, axis: int, parts: int = 0, starts: Shape = ()) -> tuple[Array, ...]:
    """Equal parts, or parts of which all but the first begin at `starts`."""
    extent = x.shape[axis]
    edges = [0, *starts] if not parts else [i * extent // parts for i in range(parts)]
    ends = [*edges[1:], extent]
    rows = np.moveaxis(x, axis, 0)
    return tuple(np.moveaxis(rows[a:b], 0, axis) for a, b in zip(edges, ends, strict=True))


def concatenate(tensors: list[Array], axis: int) -> Array:
    """The tensors joined along an axis."""
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


def stack(tensors: list[Array], axis: int) -> Array:
    """The tensors joined along a new axis."""
    return concatenate([np.expand_dims(tensor, axis) for tensor in tensors], axis)


def crop(data: Array, offset: Shape, size: Shape) -> Array:
    """Parts of images, of a size and at an offset."""
    (top, left), (height, width) = offset, size
    return data[:, :, top : top + height, left : left + width]


def roll(x: Array, shift: Shape, axis: Shape | None = None) -> Array:
    """Elements shifted along the axes; those beyond the end continue at the front."""
    if axis is None:
        (distance,) = shift
        return x.ravel()[(np.arange(x.size) - distance) % x.size].reshape(x.shape)
    for distance, dim in zip(shift, axis, strict=True):
        x = np.take(x, (np.arange(x.shape[dim]) - distance) % x.shape[dim], dim)
    return x


def repeat(x: Array, times: Any, axis: int | None = None) -> Array:
    """Elements repeated: all as often, or each by its own number."""
    rows, along = (x.ravel(), 0) if axis is None else (x, axis)
    counts = np.broadcast_to(times, rows.shape[along])
    return np.take(rows, [i for i, count in enumerate(counts) for _ in range(count)], along)


def tile(x: Array, times: Shape) -> Array:
    """Copies of the whole tensor along each axis, or along the last ones."""
    x = x.reshape((1,) * (len(times) - x.ndim) + x.shape)
    for axis, count in enumerate(times, x.ndim - len(times)):
        x = concatenate([x] * count, axis)
    return x


def broadcast(x: Array, shape: Shape) -> Array:
    """The tensor broadcast to a shape."""
    return x * np.ones(shape, dtype=x.dtype)


def broadcast_axes(x: Array, axis: Shape, extents: Shape) -> Array:
    """The tensor with axes of one element repeated to these extents."""
    shape = list(x.shape)
    for dim, extent in zip(axis, extents, strict=True):
        shape[dim] = extent
    return broadcast(x, tuple(shape))


def diagonal(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The elements whose index along `axis2` is that along `axis1` plus an offset, as last axis."""
    matrices = np.moveaxis(x, (axis1, axis2), (-2, -1))
    rows = [i for i in range(matrices.shape[-2]) if 0 <= i + offset < matrices.shape[-1]]
    return stack([matrices[..., i, i + offset] for i in rows], -1)


def diag(x: Array, offset: int = 0) -> Array:
    """The diagonal of a matrix, or the matrix that has a vector on its diagonal."""
    if x.ndim > 1:
        return diagonal(x, offset)
    order = len(x) + abs(offset)
    made = np.zeros((order, order), x.dtype)
    for i, row in enumerate(x):
        made[i + max(-offset, 0), i + max(offset, 0)] = row
    return made


def diagonal_embedding(x: Array, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Array:
    """The matrices that have vectors, along the last axis, on a diagonal."""
    order = x.shape[-1] + abs(offset)
    made = np.zeros((*x.shape[:-1], order, order), x.dtype)
    indices = np.arange(x.shape[-1])
    made[..., indices + max(-offset, 0), indices + max(offset, 0)] = x
    return np.moveaxis(made, (-2, -1), (axis1, axis2))


def as_strided(x: Array, shape: Shape, strides: Shape, offset: int = 0) -> Array:
    """Elements at equal distances in the flat tensor along each axis."""
    steps = zip(np.indices(shape), strides, strict=True)
    return x.ravel()[sum((index * stride for index, stride in steps), np.array(offset))]


def sliding_windows(x: Array, axis: int, size: int, step: int) -> Array:
    """Windows along an axis, their elements along a new last one."""
    starts = np.arange(0, x.shape[axis] - size + 1, step)
    windows = np.take(x, starts[:, None] + np.arange(size), axis)
    return np.moveaxis(windows, axis % x.ndim + 1, -1)


def pad_gradient(gradient: Array, shape: Shape, widths: Any, mode: str) -> Array:
    """The gradient of a tensor from that of the padded one, a sum over all positions of each."""
    made = np.zeros(np.prod(shape))
    np.add.at(made, pad(np.arange(made.size).reshape(shape), widths, mode), gradient)
    return made.reshape(shape)


def triangle(x: Array, keeps: Callable[[Array, Array], Array]) -> Array:
    """Matrices with zeros where the indices of row and column do not satisfy a condition."""
    rows, columns = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
    return np.where(keeps(rows, columns), x, 0)


def flip(x: Array, axis: Any = None) -> Array:
    """Elements in reverse order along these axes, by default along all."""
    for dim in range(x.ndim) if axis is None else np.atleast_1d(axis):
        x = np.take(x, range(x.shape[dim] - 1, -1, -1), int(dim))
    return x


def rot90(x: Array, times: int, axes: Shape = (0, 1)) -> Array:
    """The tensor rotated by quarter turns, from the first of two axes towards the second."""
    for _ in range(times % 4):
        x = flip(np.swapaxes(x, *axes), axes[0])
    return x


def squeeze(x: Array, axis: int | Shape | None = None) -> Array:
    """The tensor without axes of one element: these, or all."""
    axes = range(x.ndim) if axis is None else [dim % x.ndim for dim in np.atleast_1d(axis)]
    kept = [e for i, e in enumerate(x.shape) if e != 1 or i not in axes]
    return x.reshape(kept)


def arange_like(x: Array, axis: int | None = None) -> Array:
    """0, 1, 2 ... in a tensor's shape, or as many as the extent of one of its axes."""
    if axis is None:
        return np.arange(x.size, dtype=float).reshape(x.shape)
    return np.arange(x.shape[axis], dtype=float)


def indices_of_elements(x: Array, axes: Shape | None = None) -> Array:
    """The index of each element, along some of the axes or all."""
    every = np.stack(list(np.indices(x.shape)), axis=-1)
    return every if axes is None else every[..., list(axes)]


def for_each(function: Callable[[Array], Array]) -> Callable[..., tuple[Array, ...]]:
    """The operation of a list of tensors, from that of one tensor."""
    return lambda tensors: tuple(function(tensor) for tensor in tensors)


def at_least_3d(x: Array) -> Array:
    """The tensor with three axes: a vector's is the second, a matrix's are the first."""
    return x.reshape((1, *x.shape, 1) if x.ndim == 1 else x.shape + (1,) * (3 - x.ndim))


def meshgrid(tensors: list[Array], indexing: str = "ij") -> tuple[Array, ...]:
    """The coordinates of a grid's points. In the order "xy" the first is that of the columns."""
    swapped = (1, 0, *range(2, len(tensors))) if indexing == "xy" else tuple(range(len(tensors)))
    shape = [len(tensors[i]) for i in swapped]
    made = []
    for i, tensor in enumerate(tensors):
        along = [1] * len(tensors)
        along[swapped.index(i)] = len(tensor)
        made.append(broadcast(tensor.reshape(along), tuple(shape)))
    return tuple(made)


def pad_sequences(tensors: list[Array], value: float = 0.0) -> Array:
    """A batch of sequences, with a number behind the shorter ones."""
    longest = max(map(len, tensors))
    made = np.full((len(tensors), longest, *tensors[0].shape[1:]), value)
    for row, tensor in zip(made, tensors, strict=True):
        row[: len(tensor)] = tensor
    return made


def combinations(x: Array, length: int = 2, repeated: bool = False) -> Array:
    """The ways to choose some elements of a vector, each one or each several times."""
    choose = itertools.combinations_with_replacement if repeated else itertools.combinations
    return np.array(list(choose(x.tolist(), length)))


REFERENCES: Functions = {
    # The matrix with these matrices along its diagonal; a vector is a matrix of one row.
    "block_diagonal": lambda tensors: np.asarray(linalg.block_diag(*tensors)),
    # The matrix whose columns are vectors, or those of matrices.
    "column_stack": lambda tensors: concatenate(
        [tensor[:, None] if tensor.ndim == 1 else tensor for tensor in tensors], 1
    ),
    "atleast_1d": for_each(lambda x: x.reshape(x.shape or (1,))),
    "atleast_2d": for_each(lambda x: x.reshape((1,) * (2 - x.ndim) + x.shape)),
    "atleast_3d": for_each(at_least_3d),
    "bitcast": lambda x, dtype: np.ascontiguousarray(x).view(dtype),
    "broadcast_like": lambda x, like: broadcast(x, like.shape),
    "broadcast_together": lambda tensors: tuple(
        broadcast(tensor, np.broadcast_shapes(*(other.shape for other in tensors)))
        for tensor in tensors
    ),
    "cast": lambda x, dtype: x.astype(dtype),
    "diagflat": lambda x: diag(x.ravel()),
    "diag_indices_from": lambda x: np.stack([np.arange(len(x))] * x.ndim),
    "dstack": lambda tensors: concatenate([at_least_3d(tensor) for tensor in tensors], 2),
    "expand_dims": lambda x, axis: np.expand_dims(x, axis),
    "flatten": lambda x: x.reshape(len(x), -1),
    "hstack": lambda tensors: concatenate(tensors, min(tensors[0].ndim - 1, 1)),
    "moveaxis": lambda x, source, destination: np.moveaxis(x, source, destination),
    "reshape": lambda x, shape: x.reshape(shape),
    "reshape_like": lambda x, like: x.reshape(like.shape),
    "rollaxis": lambda x, axis, start=0: np.rollaxis(x, axis, start),
    "shape": lambda x: np.array(x.shape),
    "size": lambda x: np.array([x.size]),
    "swapaxes": lambda x, axis1, axis2: np.swapaxes(x, axis1, axis2),
    "transpose": lambda x, axes=None: x.transpose(axes),
    "tril": lambda x, offset=0: triangle(x, lambda row, column: column <= row + offset),
    "triu": lambda x, offset=0: triangle(x, lambda row, column: column >= row + offset),
    "unstack": lambda x, axis=0: tuple(np.moveaxis(x, axis, 0)),
    "vstack": lambda tensors: concatenate(
        [tensor.reshape((1,) * (2 - tensor.ndim) + tensor.shape) for tensor in tensors], 0
    ),
}
