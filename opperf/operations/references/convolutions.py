"""Convolutions and related operations, by loops over the kernel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from opperf.operations.references.reference import Array, Shape, last


def taps(
    extents: Shape, kernel: Shape, stride: Shape, dilation: Shape, outputs: Shape
) -> Iterator[tuple[Shape, tuple[slice, ...]]]:
    """Each position of the kernel, with slices of the elements of the padded input under it."""
    for position in itertools.product(*map(range, kernel)):
        yield (
            position,
            tuple(
                slice(k * d, k * d + s * (n - 1) + 1, s)
                for k, d, s, n in zip(position, dilation, stride, outputs, strict=True)
            ),
        )


def pad(data: Array, padding: Shape, value: float = 0.0) -> Array:
    """Images with a border of one value."""
    return np.pad(data, [(0, 0), (0, 0), *((p, p) for p in padding)], constant_values=value)


def output_extents(extents: Shape, kernel: Shape, stride: Shape, dilation: Shape) -> Shape:
    """Number of the kernel's positions along each padded extent."""
    return tuple(
        (e - d * (k - 1) - 1) // s + 1
        for e, k, s, d in zip(extents, kernel, stride, dilation, strict=True)
    )


def convolution(
    data: Array,
    weight: Array,
    stride: Shape,
    dilation: Shape,
    padding: Shape,
    groups: int = 1,
    bias: Array | None = None,
) -> Array:
    """Sums of products of the kernel and the elements under it, group by group. Weights are
    (filters, channels of a group, kernel ...)."""
    filters_in_all, kernel = len(weight), weight.shape[2:]
    around = pad(data, padding)
    outputs = output_extents(around.shape[2:], kernel, stride, dilation)
    images = around.reshape(len(data), groups, -1, *around.shape[2:])
    filters = weight.reshape(groups, filters_in_all // groups, -1, *kernel)
    made = np.zeros((len(data), groups, filters_in_all // groups, *outputs))
    for position, met in taps(around.shape[2:], kernel, stride, dilation, outputs):
        made += np.einsum("ngc...,gfc->ngf...", images[last(met)], filters[last(position)])
    made = made.reshape(len(data), filters_in_all, *outputs)
    return made if bias is None else made + bias.reshape(-1, *[1] * len(kernel))


def deconvolution(
    data: Array,
    weight: Array,
    stride: Shape,
    dilation: Shape,
    padding: Shape,
    groups: int = 1,
    bias: Array | None = None,
    output_padding: Shape = (),
) -> Array:
    """Transposed convolution: sums of copies of the kernel, one for each element and scaled by it.
    Weights are (channels, filters of a group, kernel ...). `output_padding` are further positions
    at the end of each axis, as strides leave several extents to choose from."""
    filters_in_all, kernel = weight.shape[1] * groups, weight.shape[2:]
    inputs = data.shape[2:]
    extents = tuple(
        (n - 1) * s + d * (k - 1) + 1
        for n, s, d, k in zip(inputs, stride, dilation, kernel, strict=True)
    )
    images = data.reshape(len(data), groups, -1, *inputs)
    filters = weight.reshape(groups, -1, filters_in_all // groups, *kernel)
    around = np.zeros((len(data), groups, filters_in_all // groups, *extents))
    for position, met in taps(extents, kernel, stride, dilation, inputs):
        around[last(met)] += np.einsum("ngc...,gcf->ngf...", images, filters[last(position)])
    further = output_padding or (0,) * len(kernel)
    around = np.pad(around, [(0, 0)] * 3 + [(0, more) for more in further])
    inside = (slice(p, e - p + more) for p, e, more in zip(padding, extents, further, strict=True))
    made = around[last(inside)]
    made = made.reshape(len(data), filters_in_all, *made.shape[3:])
    return made if bias is None else made + bias.reshape(-1, *[1] * len(kernel))


def im2col(data: Array, kernel: Shape, stride: Shape, dilation: Shape, padding: Shape) -> Array:
    """The elements under the kernel, a column for each of its positions."""
    around = pad(data, padding)
    outputs = output_extents(around.shape[2:], kernel, stride, dilation)
    met = [
        around[last(met)] for _, met in taps(around.shape[2:], kernel, stride, dilation, outputs)
    ]
    return np.stack(met, 2).reshape(len(data), data.shape[1] * len(met), -1)


def col2im(
    data: Array,
    output_size: Shape,
    kernel: Shape,
    stride: Shape,
    dilation: Shape,
    padding: Shape,
) -> Array:
    """Images as sums of columns at the positions that `im2col` takes them from: its transpose."""
    extents = tuple(e + 2 * p for e, p in zip(output_size, padding, strict=True))
    outputs = output_extents(extents, kernel, stride, dilation)
    split = data.reshape(len(data), -1, int(np.prod(kernel)), *outputs)
    around = np.zeros((len(data), split.shape[1], *extents))
    for i, (_, met) in enumerate(taps(extents, kernel, stride, dilation, outputs)):
        around[last(met)] += split[:, :, i]
    return around[last(slice(p, e - p) for p, e in zip(padding, extents, strict=True))]
