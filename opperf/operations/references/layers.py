"""Dense layers, activations, dropout and sequences."""

from __future__ import annotations

import numpy as np
from scipy import special

from opperf.operations.references.reference import (
    STANDARD_ERRORS,
    Array,
    Pairs,
    Shape,
    properties,
    references,
)

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
"""Constants of SELU, with which activations keep mean zero and variance one from layer to layer."""

GELU_CUBE = 0.044715
"""Factor of the cube in GELU's approximation by a hyperbolic tangent."""


def elu(x: Array, slope: float) -> Array:
    """Positive values as they are; negative ones on an exponential that tends to minus `slope`."""
    return np.where(x > 0, x, slope * np.expm1(x))


def celu(x: Array, slope: float) -> Array:
    """As `elu`, with an exponential that is stretched along both axes, so that its derivative is
    one at zero for every slope."""
    return np.where(x > 0, x, slope * np.expm1(x / slope))


def relu6(x: Array) -> Array:
    """The nearest number from 0 to 6."""
    return np.clip(x, 0, 6)


def hard_sigmoid(x: Array) -> Array:
    """The sigmoid as three straight lines."""
    return relu6(x + 3) / 6


def glu(x: Array, axis: int) -> Array:
    """The first half along an axis times the sigmoid of the second."""
    half, gate = np.split(x, 2, axis)
    return half * special.expit(gate)


def gelu_tanh(x: Array) -> Array:
    """GELU, with a hyperbolic tangent for the normal distribution."""
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + GELU_CUBE * x**3))) / 2


def leaky_relu(x: Array, slope: float | Array) -> Array:
    """Positive values as they are; negative ones times a slope, one or one for each element."""
    return np.where(x > 0, x, slope * x)


def dropout(outputs: list[Array], data: Array, rate: float, axes: Shape = ()) -> Pairs:
    """The pairs of dropout: kept elements are scaled up, all or none are kept along `axes`, and the
    share of kept elements is right within `STANDARD_ERRORS`."""
    made = outputs[0]
    kept = made != 0
    choices = kept.any(axis=axes) if axes else kept
    error = np.sqrt(rate * (1 - rate) / choices.size)
    return (
        (made, np.where(kept, data / (1 - rate), 0)),
        (kept, np.broadcast_to(np.expand_dims(choices, axes), kept.shape)),
        (abs(choices.mean() - (1 - rate)) < STANDARD_ERRORS * error, True),
    )


def steps(data: Array, lengths: Array | None) -> Array:
    """The length of each sequence of a batch; time is the first axis."""
    every = np.full(data.shape[1], len(data))
    return every if lengths is None else lengths.astype(int)


def sequence_mask(data: Array, lengths: Array | None = None) -> Array:
    """Sequences with zeros beyond the end of each."""
    inside = np.arange(len(data))[:, None] < steps(data, lengths)
    return data * inside[:, :, None]


def sequence_last(data: Array, lengths: Array | None = None) -> Array:
    """The last step of each sequence."""
    return data[steps(data, lengths) - 1, np.arange(data.shape[1])]


def sequence_reverse(data: Array, lengths: Array | None = None) -> Array:
    """Sequences in reverse order; the elements beyond the end of each stay as they are."""
    made = data.copy()
    for i, length in enumerate(steps(data, lengths)):
        made[:length, i] = data[:length, i][::-1]
    return made


REFERENCES = {
    **references(
        {
            "celu": celu,
            "dropout_inference": lambda data, rate: data,
            "dense": lambda data, weight, bias: data @ weight.T + bias,
            "elu": elu,
            "gelu": lambda x: x * special.ndtr(x),
            "gelu_tanh": gelu_tanh,
            "glu": glu,
            "hard_shrink": lambda x, threshold: np.where(np.abs(x) > threshold, x, 0),
            "hard_sigmoid": hard_sigmoid,
            "hard_swish": lambda x: x * hard_sigmoid(x),
            "hard_tanh": lambda x: np.clip(x, -1, 1),
            "leaky_relu": leaky_relu,
            "relu6": relu6,
            "selu": lambda x: SELU_SCALE * elu(x, SELU_ALPHA),
            "sequence_last": sequence_last,
            "sequence_mask": sequence_mask,
            "sequence_reverse": sequence_reverse,
            "silu": lambda x: x * special.expit(x),
            "soft_shrink": lambda x, threshold: x - np.clip(x, -threshold, threshold),
        }
    ),
    **properties({"dropout": dropout}),
}
