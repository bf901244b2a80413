"""Dense layers, activations, dropout and sequences."""

from __future__ import annotations

import numpy as np
from scipy import special

from opperf.operations.references.reference import (
    ERRORS,
    Array,
    Pairs,
    Shape,
    properties,
    references,
)

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
"""With these, activations keep mean zero and variance one from layer to layer."""

GELU_CUBE = 0.044715
"""What the hyperbolic tangent takes of the cube, to be near the normal distribution."""


def elu(x: Array, slope: float) -> Array:
    """Negative values along an exponential that ends at minus the slope."""
    return np.where(x > 0, x, slope * np.expm1(x))


def gelu_tanh(x: Array) -> Array:
    """`gelu` with the normal distribution by a hyperbolic tangent."""
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + GELU_CUBE * x**3))) / 2


def leaky_relu(x: Array, slope: float | Array) -> Array:
    """Negative values times a slope, one number or one of each element."""
    return np.where(x > 0, x, slope * x)


def dropout(outputs: list[Array], data: Array, rate: float, axes: Shape = ()) -> Pairs:
    """What is kept is scaled up, and the share that is kept is what it should be, within five
    standard errors; with axes, along them all or nothing is kept."""
    made = outputs[0]
    kept = made != 0
    choices = kept.any(axis=axes) if axes else kept
    error = np.sqrt(rate * (1 - rate) / choices.size)
    return (
        (made, np.where(kept, data / (1 - rate), 0)),
        (kept, np.broadcast_to(np.expand_dims(choices, axes), kept.shape)),
        (abs(choices.mean() - (1 - rate)) < ERRORS * error, True),
    )


def steps(data: Array, lengths: Array | None) -> Array:
    """The length of each sequence of a batch, with time along the first axis."""
    every = np.full(data.shape[1], len(data))
    return every if lengths is None else lengths.astype(int)


def sequence_mask(data: Array, lengths: Array | None = None) -> Array:
    """Zeros beyond the end of each sequence."""
    inside = np.arange(len(data))[:, None] < steps(data, lengths)
    return data * inside[:, :, None]


def sequence_last(data: Array, lengths: Array | None = None) -> Array:
    """The last step of each sequence."""
    return data[steps(data, lengths) - 1, np.arange(data.shape[1])]


def sequence_reverse(data: Array, lengths: Array | None = None) -> Array:
    """Each sequence from its end, what is beyond it as it was."""
    made = data.copy()
    for i, length in enumerate(steps(data, lengths)):
        made[:length, i] = data[:length, i][::-1]
    return made


REFERENCES = {
    **references(
        {
            "dense": lambda data, weight, bias: data @ weight.T + bias,
            "elu": elu,
            "gelu": lambda x: x * special.ndtr(x),
            "gelu_tanh": gelu_tanh,
            "leaky_relu": leaky_relu,
            "selu": lambda x: SELU_SCALE * elu(x, SELU_ALPHA),
            "sequence_last": sequence_last,
            "sequence_mask": sequence_mask,
            "sequence_reverse": sequence_reverse,
        }
    ),
    **properties({"dropout": dropout}),
}
