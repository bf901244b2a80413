"""Convolutions and pooling, by the windows of the definition, over any number of spatial axes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from opperf.operations.references.reference import Array, Functions, Pairs, Shape, last


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
    data: Array, output_size: Shape, kernel: Shape, stride: Shape, dilation: Shape, padding: Shape
) -> Array:
    """Images as sums of columns at the positions that `im2col` takes them from: its transpose."""
    extents = tuple(e + 2 * p for e, p in zip(output_size, padding, strict=True))
    outputs = output_extents(extents, kernel, stride, dilation)
    split = data.reshape(len(data), -1, int(np.prod(kernel)), *outputs)
    around = np.zeros((len(data), split.shape[1], *extents))
    for i, (_, met) in enumerate(taps(extents, kernel, stride, dilation, outputs)):
        around[last(met)] += split[:, :, i]
    return around[last(slice(p, e - p) for p, e in zip(padding, extents, strict=True))]


POOLED: dict[str, Any] = {"max": np.max, "sum": np.sum}
BORDER = {"avg": 0.0, "max": -np.inf, "sum": 0.0}


def positions(
    extent: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool
) -> int:
    """Number of a window's positions. With `ceil` a last one may reach beyond the border."""
    room = extent + 2 * padding - dilation * (kernel - 1) - 1
    count = -(-room // stride) + 1 if ceil else room // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= extent + padding else count


def windows(
    data: Array,
    kernel: Shape,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    ceil: bool,
    border: float,
    beyond: float,
) -> Array:
    """The elements of each window along a new first axis, with values for the border and beyond."""
    extents = data.shape[2:]
    axes = list(zip(extents, kernel, stride, padding, dilation, strict=True))
    outputs = tuple(positions(*axis, ceil) for axis in axes)
    further = [
        max(0, (count - 1) * s + d * (k - 1) + 1 - e - 2 * p)
        for count, (e, k, s, p, d) in zip(outputs, axes, strict=True)
    ]
    none = [(0, 0), (0, 0)]
    around = np.pad(data, [*none, *((p, p) for p in padding)], constant_values=border)
    around = np.pad(around, [*none, *((0, more) for more in further)], constant_values=beyond)
    elements = taps(around.shape[2:], kernel, stride, dilation, outputs)
    return np.stack([around[last(met)] for _, met in elements])


def pooling(
    data: Array,
    kernel: Shape,
    stride: Shape,
    padding: Shape,
    kind: str,
    dilation: Shape = (),
    ceil: bool = False,
    counts_border: bool = True,
    divisor: int | None = None,
) -> Array:
    """Maximum, mean or sum of each window. A mean is divided by the number of elements, those of
    the border included unless `counts_border` is false, or by a divisor."""
    steps = dilation or (1,) * len(kernel)
    moved = (kernel, stride, padding, steps, ceil)
    met = windows(data, *moved, BORDER[kind], BORDER[kind])
    if kind != "avg":
        return POOLED[kind](met, axis=0)
    if divisor is not None:
        return met.sum(0) / divisor
    ones = np.ones((1, 1, *data.shape[2:]))
    return met.sum(0) / windows(ones, *moved, float(counts_border), 0.0).sum(0)


def indices_of(extents: Shape) -> Array:
    """The index of each element of a sample's channel, counted from its first one."""
    return np.arange(np.prod(extents)).reshape(1, 1, *extents)


def max_pooling(
    data: Array, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, ceil: bool
) -> tuple[Array, Array]:
    """The maximum of each window, and its index in the sample's channel."""
    moved = (kernel, stride, padding, dilation, ceil)
    met = windows(data, *moved, -np.inf, -np.inf)
    of_elements = windows(indices_of(data.shape[2:]), *moved, -1, -1)
    first = met.argmax(0)[None]
    found = np.take_along_axis(np.broadcast_to(of_elements, met.shape), first, 0)
    return met.max(0), found[0]


def max_unpooling(outputs: list[Array], data: Array, indices: Array, output_size: Shape) -> Pairs:
    """The pairs of a larger map with maxima at their indices, and zeros elsewhere."""
    flat = (data.shape[0] * data.shape[1], -1)
    made = outputs[0].reshape(flat)
    rows, columns = np.arange(len(made))[:, None], indices.reshape(flat)
    differences = np.full(made.shape, np.inf)
    np.minimum.at(differences, (rows, columns), np.abs(made[rows, columns] - data.reshape(flat)))
    met = np.isfinite(differences)
    return (
        (outputs[0].shape[2:], output_size),
        (made[~met], np.zeros(np.count_nonzero(~met))),
        (differences[met], np.zeros(np.count_nonzero(met))),
    )


def global_pooling(data: Array, kind: str) -> Array:
    """Maximum, mean or sum of each image."""
    means = {**POOLED, "avg": np.mean}
    return means[kind](data, axis=tuple(range(2, data.ndim)), keepdims=True)


Cells = Iterator[tuple[Shape, tuple[slice, ...]]]
"""Places of an output, with the part of the input that each is pooled from."""


def cells(extents: Shape, counts: Shape) -> Cells:
    """A grid of parts of nearly equal extents, which overlap where an extent is not divisible."""
    parts = [
        [slice(i * extent // count, -(-(i + 1) * extent // count)) for i in range(count)]
        for extent, count in zip(extents, counts, strict=True)
    ]
    for cell in itertools.product(*map(range, counts)):
        yield cell, tuple(part[i] for part, i in zip(parts, cell, strict=True))


def adaptive_average_pooling(data: Array, output_size: Shape) -> Array:
    """The means of `output_size` cells."""
    made = np.empty((*data.shape[:2], *output_size))
    for cell, part in cells(data.shape[2:], output_size):
        made[last(cell)] = data[last(part)].reshape(*data.shape[:2], -1).mean(-1)
    return made


def maxima(data: Array, output_size: Shape, parts: Cells) -> tuple[Array, Array]:
    """The maximum of each part of the data, and its index in the sample's channel."""
    flat = (*data.shape[:2], -1)
    made = np.empty((*data.shape[:2], *output_size))
    found = np.empty(made.shape, int)
    of_elements = np.broadcast_to(indices_of(data.shape[2:]), data.shape)
    for cell, part in parts:
        met, where = data[last(part)].reshape(flat), of_elements[last(part)].reshape(flat)
        first = met.argmax(-1)[..., None]
        made[last(cell)] = met.max(-1)
        found[last(cell)] = np.take_along_axis(where, first, -1)[..., 0]
    return made, found


def starts(extent: int, kernel: int, count: int, share: float) -> list[int]:
    """Where windows begin along an axis, at distances that are fractions rounded up or down
    (Graham, "Fractional max-pooling", 2014): a random share of a step shifts them all. The last one
    ends with the axis."""
    step = (extent - kernel) / (count - 1) if count > 1 else 0.0
    begins = [int((i + share) * step) - int(share * step) for i in range(count - 1)]
    return [*begins, extent - kernel]


def fractional_max_pooling(
    data: Array, kernel: Shape, output_size: Shape, samples: Array
) -> tuple[Array, Array]:
    """The maxima of windows at random distances, by `samples` (n, channels, axes), and indices."""
    made = np.empty((*data.shape[:2], *output_size))
    found = np.empty(made.shape, int)
    for n, c in np.ndindex(*data.shape[:2]):
        axes = zip(data.shape[2:], kernel, output_size, samples[n, c], strict=True)
        begins = [starts(*axis) for axis in axes]
        parts = (
            (
                cell,
                tuple(
                    slice(begin[i], begin[i] + k)
                    for begin, i, k in zip(begins, cell, kernel, strict=True)
                ),
            )
            for cell in itertools.product(*map(range, output_size))
        )
        one = maxima(data[n : n + 1, c : c + 1], output_size, parts)
        made[n, c], found[n, c] = one[0][0, 0], one[1][0, 0]
    return made, found


PROPERTIES: Functions = {"max_unpooling": max_unpooling}


REFERENCES: Functions = {
    # The maxima of `output_size` cells, and their indices.
    "adaptive_max_pooling": lambda data, output_size: maxima(
        data, output_size, cells(data.shape[2:], output_size)
    )
}
