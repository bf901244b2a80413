"""Convolutions, pooling and what is made of them, by loops over the kernel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from references import Array, Reference

Extents = tuple[int, ...]


def taps(
    extents: Extents, kernel: Extents, stride: Extents, dilate: Extents, outputs: Extents
) -> Iterator[tuple[Extents, tuple[slice, ...]]]:
    """Each place of the kernel, with the elements of the padded input it meets."""
    for place in itertools.product(*map(range, kernel)):
        yield (
            place,
            tuple(
                slice(k * d, k * d + s * (n - 1) + 1, s)
                for k, d, s, n in zip(place, dilate, stride, outputs, strict=True)
            ),
        )


def with_border(data: Array, pad: Extents, value: float = 0.0) -> Array:
    """A border around every image."""
    return np.pad(data, [(0, 0), (0, 0), *((p, p) for p in pad)], constant_values=value)


def steps(extents: Extents, kernel: Extents, stride: Extents, dilate: Extents) -> Extents:
    """How often the kernel fits into padded extents."""
    return tuple(
        (e - d * (k - 1) - 1) // s + 1
        for e, k, s, d in zip(extents, kernel, stride, dilate, strict=True)
    )


def convolution(
    data: Array,
    weight: Array,
    bias: Array,
    kernel: Extents,
    stride: Extents,
    dilate: Extents,
    pad: Extents,
    num_filter: int,
    layout: str,
    num_group: int = 1,
) -> Array:
    """Sums of products of the kernel and what it meets, group by group."""
    around = with_border(data, pad)
    outputs = steps(around.shape[2:], kernel, stride, dilate)
    images = around.reshape(len(data), num_group, -1, *around.shape[2:])
    filters = weight.reshape(num_group, num_filter // num_group, -1, *kernel)
    made = np.zeros((len(data), num_group, num_filter // num_group, *outputs))
    for place, met in taps(around.shape[2:], kernel, stride, dilate, outputs):
        made += np.einsum("ngc...,gfc->ngf...", images[(..., *met)], filters[(..., *place)])
    made = made.reshape(len(data), num_filter, *outputs)
    return made + bias.reshape(-1, *[1] * len(kernel))


def deconvolution(
    data: Array,
    weight: Array,
    bias: Array,
    kernel: Extents,
    stride: Extents,
    dilate: Extents,
    pad: Extents,
    num_filter: int,
    no_bias: bool,
    layout: str,
    num_group: int = 1,
) -> Array:
    """What a convolution would have to be given: each element spread by the kernel."""
    assert not no_bias
    inputs = data.shape[2:]
    extents = tuple(
        (n - 1) * s + d * (k - 1) + 1
        for n, s, d, k in zip(inputs, stride, dilate, kernel, strict=True)
    )
    images = data.reshape(len(data), num_group, -1, *inputs)
    filters = weight.reshape(num_group, -1, num_filter // num_group, *kernel)
    around = np.zeros((len(data), num_group, num_filter // num_group, *extents))
    for place, met in taps(extents, kernel, stride, dilate, inputs):
        around[(..., *met)] += np.einsum("ngc...,gcf->ngf...", images, filters[(..., *place)])
    inside = tuple(slice(p, e - p) for p, e in zip(pad, extents, strict=True))
    made = around[(..., *inside)]
    made = made.reshape(len(data), num_filter, *made.shape[3:])
    return made + bias.reshape(-1, *[1] * len(kernel))


POOLED: dict[str, Any] = {"avg": np.mean, "max": np.max, "sum": np.sum}
BORDER = {"avg": 0.0, "max": -np.inf, "sum": 0.0}


def pooling(
    data: Array,
    kernel: Extents,
    pool_type: str,
    global_pool: bool,
    stride: Extents,
    pad: Extents,
) -> Array:
    """One number of each window, or of each whole image; the border counts in an average."""
    if global_pool:
        return POOLED[pool_type](data, axis=tuple(range(2, data.ndim)), keepdims=True)
    around = with_border(data, pad, BORDER[pool_type])
    once = (1,) * len(kernel)
    outputs = steps(around.shape[2:], kernel, stride, once)
    windows = [
        around[(..., *met)] for _, met in taps(around.shape[2:], kernel, stride, once, outputs)
    ]
    return POOLED[pool_type](windows, axis=0)


def adaptive(data: Array, output_size: Extents) -> Array:
    """The means of as many windows as asked for, that overlap where they do not fit."""

    def windows(extent: int, count: int) -> list[slice]:
        return [slice(i * extent // count, -(-(i + 1) * extent // count)) for i in range(count)]

    rows, columns = (windows(e, n) for e, n in zip(data.shape[2:], output_size, strict=True))
    return np.stack(
        [np.stack([data[:, :, r, c].mean((2, 3)) for c in columns], -1) for r in rows], -2
    )


def columns(data: Array, kernel: Extents, stride: Extents, dilate: Extents, pad: Extents) -> Array:
    """What the kernel meets, a column for each place that it is at."""
    around = with_border(data, pad)
    outputs = steps(around.shape[2:], kernel, stride, dilate)
    met = [
        around[(..., *one)] for _, one in taps(around.shape[2:], kernel, stride, dilate, outputs)
    ]
    return np.stack(met, 2).reshape(len(data), data.shape[1] * len(met), -1)


def images(
    data: Array,
    output_size: Extents,
    kernel: Extents,
    stride: Extents,
    dilate: Extents,
    pad: Extents,
) -> Array:
    """The sums of columns where they came from: the transpose of `columns`."""
    extents = tuple(e + 2 * p for e, p in zip(output_size, pad, strict=True))
    outputs = steps(extents, kernel, stride, dilate)
    split = data.reshape(len(data), -1, int(np.prod(kernel)), *outputs)
    around = np.zeros((len(data), split.shape[1], *extents))
    for i, (_, met) in enumerate(taps(extents, kernel, stride, dilate, outputs)):
        around[(..., *met)] += split[:, :, i]
    return around[(..., *(slice(p, e - p) for p, e in zip(pad, extents, strict=True)))]


REFERENCES: dict[str, Reference] = {
    "Convolution": convolution,
    "Convolution_v1": convolution,
    "Deconvolution": deconvolution,
    "Pooling": pooling,
    "Pooling_v1": pooling,
    "_contrib_AdaptiveAvgPooling2D": adaptive,
    "col2im": images,
    "im2col": columns,
}
