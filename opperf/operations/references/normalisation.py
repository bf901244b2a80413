"""Normalisation: by moments, by length and by sum."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from opperf.operations.references.reference import Array, Functions, Shape


def softmax(
    data: Array, axis: int = -1, temperature: float = 1.0, lengths: Array | None = None
) -> Array:
    """Exponentials of data divided by a temperature, which sum to one along an axis, over a number
    of first elements where there are lengths; zero beyond."""
    if lengths is not None:
        inside = np.arange(data.shape[axis]) < np.expand_dims(lengths, -1)
        return masked_softmax(data / temperature, np.moveaxis(inside, -1, axis), axis)
    raised = np.exp((data - data.max(axis=axis, keepdims=True)) / temperature)
    return raised / raised.sum(axis=axis, keepdims=True)


def masked_softmax(data: Array, mask: Array, axis: int) -> Array:
    """Softmax over the elements where the mask is set, zero elsewhere and in rows without any."""
    raised = np.where(mask, np.exp(data), 0.0)
    total = raised.sum(axis, keepdims=True)
    return np.divide(raised, total, out=np.zeros_like(raised), where=total > 0)


def masked_log_softmax(data: Array, mask: Array, axis: int) -> Array:
    """The logarithm of `masked_softmax`."""
    with np.errstate(divide="ignore"):
        return np.log(masked_softmax(data, mask, axis))


def standardise(data: Array, axes: Shape, epsilon: float) -> Array:
    """Data with mean zero and variance one along the axes."""
    beside = data - data.mean(axes, keepdims=True)
    return beside / np.sqrt(data.var(axes, keepdims=True) + epsilon)


def per_channel(values: Array, data: Array, axis: int = 1) -> Array:
    """A value for each channel, in a shape that broadcasts to the data's."""
    extents = [1] * data.ndim
    extents[axis] = -1
    return values.reshape(extents)


def batch_norm(data: Array, scale: Array, shift: Array, epsilon: float, axis: int = 1) -> Array:
    """Data normalised by channel, with the statistics of the batch: the train phase."""
    others = tuple(dim for dim in range(data.ndim) if dim != axis % data.ndim)
    normal = standardise(data, others, epsilon)
    return normal * per_channel(scale, data, axis) + per_channel(shift, data, axis)


def batch_norm_inference(
    data: Array,
    mean: Array,
    variance: Array,
    scale: Array,
    shift: Array,
    epsilon: float,
    axis: int = 1,
) -> Array:
    """Data normalised by channel, with running statistics: the predict phase."""
    factor = scale / np.sqrt(variance + epsilon)
    return (data - per_channel(mean, data, axis)) * per_channel(factor, data, axis) + per_channel(
        shift, data, axis
    )


def layer_norm(data: Array, scale: Array, shift: Array, axis: int, epsilon: float) -> Array:
    """Data normalised along one axis."""
    normal = standardise(data, (axis,), epsilon)
    return normal * per_channel(scale, data, axis) + per_channel(shift, data, axis)


def instance_norm(data: Array, scale: Array, shift: Array, epsilon: float) -> Array:
    """Data normalised by channel of each sample."""
    normal = standardise(data, tuple(range(2, data.ndim)), epsilon)
    return normal * per_channel(scale, data) + per_channel(shift, data)


def group_norm(data: Array, scale: Array, shift: Array, groups: int, epsilon: float) -> Array:
    """Data normalised by group of channels of each sample; scale and shift are of channels."""
    grouped = data.reshape(len(data), groups, -1)
    normal = standardise(grouped, (2,), epsilon).reshape(data.shape)
    return normal * per_channel(scale, data) + per_channel(shift, data)


def renorm(data: Array, order: float, axis: int, limit: float) -> Array:
    """Data of which each slice along an axis has a norm of at most the limit."""
    others = tuple(dim for dim in range(data.ndim) if dim != axis % data.ndim)
    norms = (np.abs(data) ** order).sum(others, keepdims=True) ** (1 / order)
    return data * np.minimum(1, limit / norms)


def renorm_of_rows(data: Array, indices: Array, order: float, limit: float) -> Array:
    """A table of which the rows at indices have a norm of at most the limit."""
    rows = np.unique(indices)
    made = data.copy()
    made[rows] = renorm(data[rows], order, 0, limit)
    return made


def cosine_similarity(x: Array, y: Array, axis: int, epsilon: float) -> Array:
    """Cosines of the angles between vectors along an axis, none shorter than epsilon."""
    of_x, of_y = (np.maximum(np.sqrt((vectors**2).sum(axis)), epsilon) for vectors in (x, y))
    return (x * y).sum(axis) / (of_x * of_y)


def local_response_norm(
    data: Array, alpha: float, beta: float, offset: float, channels: int
) -> Array:
    """Data divided by a power of the sum of squares across neighbouring channels."""
    half = channels // 2
    squares = np.pad(data**2, ((0, 0), (half, half), (0, 0), (0, 0)))
    near: Any = sum(squares[:, i : i + data.shape[1]] for i in range(channels))
    return data * (offset + alpha / channels * near) ** -beta


REFERENCES: Functions = {
    # Data divided by the root of its mean square along the last axis.
    "rms_norm": lambda data, scale, epsilon: (
        data / np.sqrt((data**2).mean(-1, keepdims=True) + epsilon) * scale
    ),
    # Data divided by its length along the axes.
    "unit_length": lambda data, axes, epsilon: (
        data / np.sqrt((data**2).sum(axes, keepdims=True) + epsilon)
    ),
    "batch_norm_relu": lambda **inputs: np.maximum(batch_norm(**inputs), 0),
    "batch_norm_relu_inference": (lambda **inputs: np.maximum(batch_norm_inference(**inputs), 0)),
    "log_softmax": (
        lambda data, axis, temperature=1.0: special.log_softmax(data / temperature, axis)
    ),
    "softmin": lambda data, axis, temperature=1.0: softmax(-data, axis, temperature),
}
