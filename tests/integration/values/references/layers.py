"""Dense layers, activations, normalisation and sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from references import Array, Pairs, Property, Reference, softmax


def dense(data: Array, weight: Array, bias: Array, num_hidden: int, flatten: bool) -> Array:
    """A dense layer, of whole samples or of the last axis."""
    assert len(weight) == num_hidden
    return (data.reshape(len(data), -1) if flatten else data) @ weight.T + bias


ACTIVATIONS: dict[str, Any] = {
    "log_sigmoid": special.log_expit,
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": special.expit,
    "softrelu": lambda x: np.logaddexp(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanh": np.tanh,
}

SLOPE = 0.25
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
RANDOM_SLOPE = (0.125 + 0.334) / 2
"""The slope when predicting: the middle of those drawn when training."""

LEAKY: dict[str, Any] = {
    "elu": lambda x: np.where(x > 0, x, SLOPE * np.expm1(x)),
    "gelu": lambda x: x * special.ndtr(x),
    "gelu_erf": lambda x: x * special.ndtr(x),
    "gelu_tanh": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    "leaky": lambda x: np.where(x > 0, x, SLOPE * x),
    "prelu": lambda x, slope: np.where(x > 0, x, slope * x),
    "rrelu": lambda x: np.where(x > 0, x, RANDOM_SLOPE * x),
    "selu": lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(x)),
}


def leaky(outputs: list[Array], act_type: str, **tensors: Array) -> Pairs:
    """The first output: the one with random slopes has another, which only training writes."""
    return ((outputs[0], LEAKY[act_type](*tensors.values())),)


def softmax_of(data: Array, mode: str) -> Array:
    """Over everything of a sample, or over its channels."""
    return softmax(data, 1) if mode == "channel" else softmax(data.reshape(len(data), -1))


def masked(data: Array, mask: Array, axis: int) -> Array:
    """Over what is not masked, zero elsewhere; a row that is masked altogether is zero."""
    raised = np.where(mask, np.exp(data), 0.0)
    total = raised.sum(axis, keepdims=True)
    return np.divide(raised, total, out=np.zeros_like(raised), where=total > 0)


def masked_logarithm(data: Array, mask: Array, axis: int) -> Array:
    """The logarithm of `masked`."""
    with np.errstate(divide="ignore"):
        return np.log(masked(data, mask, axis))


def scaled(data: Array, axes: tuple[int, ...], eps: float) -> Array:
    """Mean zero and variance one along the axes."""
    return (data - data.mean(axes, keepdims=True)) / np.sqrt(data.var(axes, keepdims=True) + eps)


def per_channel(values: Array, data: Array) -> Array:
    """A value for each channel, to go with images."""
    return values.reshape(-1, *[1] * (data.ndim - 2))


BATCH_EPS = 1e-3


def batch_norm(
    data: Array,
    gamma: Array,
    beta: Array,
    moving_mean: Array,
    moving_var: Array,
    fix_gamma: bool,
    **other: Any,
) -> Array:
    """As in training, by the statistics of the batch and not by the running ones."""
    assert not fix_gamma
    axes = (0, *range(2, data.ndim))
    normal = scaled(data, axes, BATCH_EPS)
    return normal * per_channel(gamma, data) + per_channel(beta, data)


def batch_norm_relu(**given: Any) -> Array:
    """`batch_norm`, and no negative values."""
    return np.maximum(batch_norm(**given), 0)


def layer_norm(data: Array, gamma: Array, beta: Array, axis: int) -> Array:
    """Along one axis."""
    return scaled(data, (axis,), 1e-5) * gamma + beta


def instance_norm(data: Array, gamma: Array, beta: Array) -> Array:
    """Each channel of each sample."""
    normal = scaled(data, tuple(range(2, data.ndim)), 1e-3)
    return normal * per_channel(gamma, data) + per_channel(beta, data)


def group_norm(data: Array, gamma: Array, beta: Array, num_groups: int) -> Array:
    """Each group of channels of each sample; scale and shift for each group or each channel."""
    grouped = data.reshape(len(data), num_groups, -1)
    normal = scaled(grouped, (2,), 1e-5).reshape(data.shape)
    times = data.shape[1] // len(gamma)
    gamma, beta = np.repeat(gamma, times), np.repeat(beta, times)
    return normal * per_channel(gamma, data) + per_channel(beta, data)


UNIT_AXES: dict[str, tuple[int, ...]] = {
    "instance": (1, 2, 3),
    "channel": (1,),
    "spatial": (2, 3),
}


def unit_length(data: Array, mode: str) -> Array:
    """Divided by the length."""
    return data / np.sqrt((data**2).sum(UNIT_AXES[mode], keepdims=True) + 1e-10)


def local_response(data: Array, alpha: float, beta: float, knorm: float, nsize: int) -> Array:
    """Divided by a power of the sum of squares across neighbouring channels."""
    half = nsize // 2
    squares = np.pad(data**2, ((0, 0), (half, half), (0, 0), (0, 0)))
    near = sum(squares[:, i : i + data.shape[1]] for i in range(nsize))
    return data * (knorm + alpha / nsize * near) ** -beta


def dropped(
    outputs: list[Array], data: Array, p: float, mode: str, axes: tuple[int, ...] = ()
) -> Pairs:
    """What is kept is scaled up, and the share that is kept is what it should be, within five
    standard errors; with axes, along them all or nothing is kept."""
    made = outputs[0]
    kept = made != 0
    choices = kept.any(axis=axes) if axes else kept
    error = np.sqrt(p * (1 - p) / choices.size)
    return (
        (made, np.where(kept, data / (1 - p), 0)),
        (kept, np.broadcast_to(np.expand_dims(choices, axes), kept.shape)),
        (abs(choices.mean() - (1 - p)) < 5 * error, True),
    )


def steps(data: Array, sequence_length: Any) -> Array:
    """The length of each sequence of a batch, with time along the first axis."""
    every = np.full(data.shape[1], len(data))
    return every if sequence_length is None else sequence_length.astype(int)


def sequence_mask(
    data: Array, sequence_length: Any = None, use_sequence_length: bool = False
) -> Array:
    """Zeros beyond the end of each sequence."""
    inside = np.arange(len(data))[:, None] < steps(data, sequence_length)
    return data * inside[:, :, None]


def sequence_last(
    data: Array, sequence_length: Any = None, use_sequence_length: bool = False
) -> Array:
    """The last step of each sequence."""
    return data[steps(data, sequence_length) - 1, np.arange(data.shape[1])]


def sequence_reverse(
    data: Array, sequence_length: Any = None, use_sequence_length: bool = False
) -> Array:
    """Each sequence from its end, what is beyond it as it was."""
    made = data.copy()
    for i, length in enumerate(steps(data, sequence_length)):
        made[:length, i] = data[:length, i][::-1]
    return made


REFERENCES: dict[str, Reference] = {
    "Activation": lambda data, act_type: ACTIVATIONS[act_type](data),
    "BatchNorm": batch_norm,
    "FullyConnected": dense,
    "GroupNorm": group_norm,
    "InstanceNorm": instance_norm,
    "L2Normalization": unit_length,
    "LRN": local_response,
    "LayerNorm": layer_norm,
    "SequenceLast": sequence_last,
    "SequenceMask": sequence_mask,
    "SequenceReverse": sequence_reverse,
    "SoftmaxActivation": softmax_of,
    "_contrib_BatchNormWithReLU": batch_norm_relu,
    "_contrib_SyncBatchNorm": batch_norm,
    "log_softmax": lambda data, axis: special.log_softmax(data, axis),
    "masked_log_softmax": masked_logarithm,
    "masked_softmax": masked,
    "softmax": softmax,
    "softmin": lambda data, axis: softmax(-data, axis),
}

PROPERTIES: dict[str, Property] = {
    "Dropout": dropped,
    "LeakyReLU": leaky,
}
