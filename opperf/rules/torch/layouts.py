"""Tensors that are not contiguous: transposed, expanded, with channels last in memory."""

from __future__ import annotations

import msgspec

from opperf.model import Fill, TensorSpec
from opperf.rules.shapes import Shape
from opperf.rules.values import NORMAL, fixed, tensor

CHANNELS_LAST = "channels_last"


def in_channels_last(shape: Shape, gradient: bool = True) -> TensorSpec:
    """Feature maps of this shape whose channels are adjacent in memory."""
    maps = tensor(*shape, gradient=gradient)
    return msgspec.structs.replace(maps, memory_format=CHANNELS_LAST)


def transposed(shape: Shape, fill: Fill = NORMAL, gradient: bool = True) -> TensorSpec:
    """`x.T` of this shape, of a contiguous `x`."""
    rows, _ = shape
    matrix = tensor(*shape, fill=fill, gradient=gradient)
    return msgspec.structs.replace(matrix, strides=(1, rows))


def expanded_index(rows: int, columns: int, limit: int) -> TensorSpec:
    """Indices of rows, each the same for all columns, without a copy: `index[:, None].expand`."""
    index = fixed(rows, columns, fill=Fill("integers", 0.0, float(limit)), dtype="int64")
    return msgspec.structs.replace(index, strides=(1, 0))
