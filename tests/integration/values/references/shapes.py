"""Operators that lay elements out anew: shapes, orders of axes, joining and splitting."""

from __future__ import annotations

from typing import Any

import numpy as np

from references import Array, Reference


def reshaped(data: Array, shape: tuple[int, ...]) -> Array:
    """A new shape, in which 0 keeps the extent that is there."""
    return data.reshape(
        [data.shape[i] if extent == 0 else extent for i, extent in enumerate(shape)]
    )


def padded(data: Array, mode: str, pad_width: tuple[int, ...]) -> Array:
    """A border, its widths before and after each axis in one row."""
    return np.pad(data, np.reshape(pad_width, (-1, 2)), mode=mode)


def to_space(data: Array, block_size: int) -> Array:
    """Channels laid out as blocks, as ONNX's DepthToSpace in its default order."""
    n, c, h, w = data.shape
    b = block_size
    blocks = data.reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    return blocks.reshape(n, c // b**2, h * b, w * b)


def to_depth(data: Array, block_size: int) -> Array:
    """Blocks laid out as channels, as ONNX's SpaceToDepth."""
    n, c, h, w = data.shape
    b = block_size
    blocks = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return blocks.reshape(n, c * b**2, h // b, w // b)


def repeated(data: Array, repeats: Any, axis: int | None = None) -> Array:
    """Each element as often as said, in a row."""
    return np.repeat(data, repeats, axis)


def widened(data: Array, axis: tuple[int, ...], size: tuple[int, ...]) -> Array:
    """Axes of one element repeated."""
    shape = list(data.shape)
    for one, extent in zip(axis, size, strict=True):
        shape[one] = extent
    return np.broadcast_to(data, shape)


def split(
    data: Array,
    indices: tuple[int, ...] = (),
    axis: int = 1,
    sections: int = 0,
    num_outputs: int = 0,
) -> tuple[Array, ...]:
    """Equal parts, or parts that begin where said, the first of them at zero."""
    return tuple(np.split(data, sections or num_outputs or list(indices[1:]), axis))


def cropped(data: list[Array], offset: Any = (0, 0), h_w: Any = None, center_crop: Any = 0) -> Any:
    """Images cut out at an offset, or from the middle to another image's size."""
    height, width = h_w or data[1].shape[2:]
    top, left = offset
    if center_crop:
        top, left = (data[0].shape[2] - height) // 2, (data[0].shape[3] - width) // 2
    return data[0][:, :, top : top + height, left : left + width]


def transposed(data: Array, axes: Any = None) -> Array:
    """The axes in another order, reversed unless said."""
    return data.transpose(axes)


def reversed_along(data: Array, axis: Any) -> Array:
    """Elements from last to first."""
    return np.flip(data, axis)


def rolled(data: Array, shift: tuple[int, ...], axis: Any = None) -> Array:
    """Elements moved on, those at the end to the front."""
    return np.roll(data, shift[0] if axis is None else shift, axis)


def squeezed(axis: Any = None, **given: Array) -> Array:
    """Without axes of one element."""
    (data,) = given.values()
    return np.squeeze(data, axis)


def spread(array: Array | None = None, shape: Any = None, data: Array | None = None) -> Array:
    """Repeated to a shape."""
    given = array if array is not None else data
    assert given is not None
    return np.broadcast_to(given, shape)


def onto(lhs: Array, rhs: Array) -> Array:
    """Repeated to another tensor's shape."""
    return np.broadcast_to(lhs, rhs.shape)


def diagonal(data: Array, k: int = 0) -> Array:
    """The diagonal of a matrix, or the diagonal matrix of a vector."""
    return np.diag(data, k)


def diagonals(data: Array, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of matrices."""
    return np.diagonal(data, 0, axis1, axis2)


def counted_like(data: Array, axis: int | None = None) -> Array:
    """0, 1, 2, ... in a tensor's shape, or along one of its axes."""
    if axis is None:
        return np.arange(data.size, dtype=float).reshape(data.shape)
    return np.arange(data.shape[axis], dtype=float)


def positions(data: Array, axes: Any = None) -> Array:
    """The index of each element, on some of the axes."""
    every = np.stack(np.indices(data.shape), axis=-1)
    return every if axes is None else every[..., list(axes)]


def cast(data: Array, dtype: str) -> Array:
    """The elements in another type, to zero where it has whole numbers only."""
    return data.astype(dtype)


def each(function: Any) -> Reference:
    """The reference of an operator that treats the tensors of a list one by one."""
    return lambda arys: tuple(function(array) for array in arys)


NUMPY: dict[str, Reference] = {
    "atleast_1d": each(np.atleast_1d),
    "atleast_2d": each(np.atleast_2d),
    "atleast_3d": each(np.atleast_3d),
    "diag": diagonal,
    "diagflat": lambda data: np.diagflat(data),
    "diagonal": diagonals,
    "moveaxis": lambda a, source, destination: np.moveaxis(a, source, destination),
    "roll": rolled,
    "squeeze": squeezed,
    "transpose": lambda a, axes=None: a.transpose(axes),
}
"""Operators that MXNet 1 has as `_np_` and MXNet 2 as `_npi_`."""

REFERENCES: dict[str, Reference] = {
    **{f"_np_{name}": reference for name, reference in NUMPY.items()},
    **{f"_npi_{name}": reference for name, reference in NUMPY.items()},
    "Cast": cast,
    "Concat": lambda data, dim: np.concatenate(data, dim),
    "Crop": cropped,
    "Flatten": lambda data: data.reshape(len(data), -1),
    "Pad": padded,
    "Reshape": reshaped,
    "SliceChannel": split,
    "SwapAxis": lambda data, dim1, dim2: np.swapaxes(data, dim1, dim2),
    "_contrib_arange_like": counted_like,
    "_contrib_dynamic_reshape": lambda data, shape: data.reshape(shape),
    "_contrib_index_array": positions,
    "_npi_broadcast_to": spread,
    "_npi_column_stack": lambda data: np.column_stack(data),
    "_npi_concatenate": lambda data, **axis: np.concatenate(data, *axis.values()),
    "_npi_diag_indices_from": lambda data: np.stack(np.diag_indices_from(data)),
    "_npi_dsplit": split,
    "_npi_dstack": lambda data: np.dstack(data),
    "_npi_flip": reversed_along,
    "_npi_hsplit": split,
    "_npi_hstack": lambda data: np.hstack(data),
    "_npi_pad": lambda data, pad_width, mode: np.pad(data, pad_width, mode),
    "_npi_repeats": repeated,
    "_npi_rollaxis": lambda data, axis, start: np.rollaxis(data, axis, start),
    "_npi_rot90": lambda data, k, axes: np.rot90(data, k, axes),
    "_npi_stack": lambda data, axis: np.stack(data, axis),
    "_npi_tril": lambda data: np.tril(data),
    "_npi_triu": lambda data: np.triu(data),
    "_npi_vstack": lambda data: np.vstack(data),
    "_npx_reshape": lambda a, newshape: a.reshape(newshape),
    "_rnn_param_concat": lambda data, num_args: np.concatenate(data, 1),
    "_split_v2": split,
    "amp_cast": cast,
    "broadcast_axis": widened,
    "broadcast_like": onto,
    "broadcast_to": spread,
    "cast_storage": lambda data, stype: data,
    "depth_to_space": to_space,
    "diag": diagonal,
    "expand_dims": lambda data, axis: np.expand_dims(data, axis),
    "repeat": repeated,
    "reshape_like": lambda lhs, rhs: lhs.reshape(rhs.shape),
    "reverse": reversed_along,
    "shape_array": lambda data: np.array(data.shape),
    "size_array": lambda data: np.array([data.size]),
    "space_to_depth": to_depth,
    "squeeze": squeezed,
    "stack": lambda data, axis: np.stack(data, axis),
    "tile": lambda data, reps: np.tile(data, reps),
    "transpose": transposed,
}
