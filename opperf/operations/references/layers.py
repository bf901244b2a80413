"""Dense and recurrent layers, activations, dropout and sequences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from opperf.operations.references.reference import STANDARD_ERRORS, Array, Functions, Pairs, Shape

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
"""Constants of SELU, with which activations keep mean zero and variance one from layer to layer."""

MIN_DIFFERENCE = 1e-5
"""By which a dropped element may differ from alpha dropout's value of it, in single precision."""

GELU_CUBE = 0.044715
"""Factor of the cube in GELU's approximation by a hyperbolic tangent."""


def dense(data: Array, weight: Array, bias: Array | None = None) -> Array:
    """Products of the data's last axis and of each unit's weights, with or without a bias."""
    made = data @ weight.T
    return made if bias is None else made + bias


def elu(x: Array, slope: float) -> Array:
    """Positive values as they are; negative ones on an exponential that tends to minus `slope`."""
    return np.where(x > 0, x, slope * np.expm1(x))


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


def alpha_dropout(outputs: list[Array], data: Array, rate: float, axes: Shape = ()) -> Pairs:
    """The pairs of alpha dropout (Klambauer et al., "Self-normalizing neural networks", 2017):
    dropped elements have SELU's least value, and then all are scaled and shifted so that mean zero
    and variance one remain. All or none are kept along `axes`."""
    made, least = outputs[0], -SELU_SCALE * SELU_ALPHA
    scale = ((1 - rate) * (1 + rate * least**2)) ** -0.5
    shift = -scale * rate * least
    dropped = np.isclose(made, scale * least + shift, atol=MIN_DIFFERENCE)
    choices = dropped.all(axis=axes) if axes else dropped
    error = np.sqrt(rate * (1 - rate) / choices.size)
    return (
        (made, np.where(dropped, scale * least + shift, scale * data + shift)),
        (dropped, np.broadcast_to(np.expand_dims(choices, axes), dropped.shape)),
        (abs(choices.mean() - rate) < STANDARD_ERRORS * error, True),
    )


POOLED: dict[str, Any] = {"sum": np.sum, "mean": np.mean, "max": np.max}
"""Functions of the rows of a bag."""


def embedding_bag(
    data: Array,
    weight: Array,
    offsets: Array,
    kind: str,
    shares: Array | None = None,
    padding: int | None = None,
    has_end: bool = False,
) -> Array:
    """Sum, mean or maximum of the rows of each bag. Bags are parts of the indices, from one offset
    to the next, and each row may have a share of its own in the sum. An index may be padding, which
    is in no bag; `has_end` says that the last offset is the end of the last bag."""
    ends = [*offsets.tolist(), *([] if has_end else [len(data)])]
    made = np.zeros((len(ends) - 1, weight.shape[1]))
    for bag, (begin, end) in enumerate(itertools.pairwise(ends)):
        kept = data[begin:end] != padding
        rows = weight[data[begin:end][kept]]
        if shares is not None:
            rows = rows * shares[begin:end][kept][:, None]
        if len(rows):
            made[bag] = POOLED[kind](rows, axis=0)
    return made


def steps(data: Array, lengths: Array | None) -> Array:
    """The length of each sequence of a batch; time is the first axis."""
    every = np.full(data.shape[1], len(data))
    return every if lengths is None else lengths.astype(int)


def sequence_mask(data: Array, lengths: Array | None = None) -> Array:
    """Sequences with zeros beyond the end of each."""
    inside = np.arange(len(data))[:, None] < steps(data, lengths)
    return data * inside[:, :, None]


def sequence_reverse(data: Array, lengths: Array | None = None) -> Array:
    """Sequences in reverse order; the elements beyond the end of each stay as they are."""
    made = data.copy()
    for i, length in enumerate(steps(data, lengths)):
        made[:length, i] = data[:length, i][::-1]
    return made


Step = Callable[[Array, Array, Array, Array], tuple[Array, Array]]
"""Computes state and cell from the gates of the input, those of the state, old state and cell."""


def plain(activation: Callable[[Array], Array]) -> Step:
    """The step of a layer of one gate."""
    return lambda by_input, by_state, state, cell: (activation(by_input + by_state), cell)


def lstm(by_input: Array, by_state: Array, state: Array, cell: Array) -> tuple[Array, Array]:
    """The step of an LSTM. The gates are input, forget, candidate and output, in this order."""
    into, forget, candidate, out = np.split(by_input + by_state, 4, axis=-1)
    cell = special.expit(forget) * cell + special.expit(into) * np.tanh(candidate)
    return special.expit(out) * np.tanh(cell), cell


def gru(by_input: Array, by_state: Array, state: Array, cell: Array) -> tuple[Array, Array]:
    """The step of a GRU. The gates are reset, update and candidate, in this order."""
    (reset, update, new), (state_reset, state_update, state_new) = (
        np.split(gates, 3, axis=-1) for gates in (by_input, by_state)
    )
    part = special.expit(update + state_update)
    candidate = np.tanh(new + special.expit(reset + state_reset) * state_new)
    return (1 - part) * candidate + part * state, cell


def recurrent(step: Step) -> Callable[..., Any]:
    """The function of layers of one kind. Weights and biases are those of the input and of the
    state in turn, direction by direction and layer by layer. Sequences of fewer steps than the data
    have lengths, and zeros beyond. With `states`, the last states are returned beside the outputs,
    and the last cells where there are cells."""

    def outputs(
        data: Array,
        weights: list[Array],
        biases: list[Array],
        state: Array,
        bidirectional: bool,
        cell: Any = None,
        lengths: Any = None,
        states: bool = False,
    ) -> Any:
        directions = 2 if bidirectional else 1
        cells = np.zeros_like(state) if cell is None else cell
        every = np.full(data.shape[1], len(data)) if lengths is None else lengths
        runs = (np.arange(len(data))[:, None] < every)[..., None]
        x, last_states, last_cells = data, [], []
        for first in range(0, len(state), directions):
            made = []
            for position in range(first, first + directions):
                (w, u), (b, c) = (
                    all_of[2 * position : 2 * position + 2] for all_of in (weights, biases)
                )
                order = slice(None, None, -1 if position > first else 1)
                h, memory, steps = state[position], cells[position], []
                for one, running in zip(x[order], runs[order], strict=True):
                    new, newer = step(one @ w.T + b, h @ u.T + c, h, memory)
                    h, memory = np.where(running, new, h), np.where(running, newer, memory)
                    steps.append(np.where(running, h, 0.0))
                made.append(np.stack(steps)[order])
                last_states.append(h)
                last_cells.append(memory)
            x = np.concatenate(made, axis=-1)
        if not states:
            return x
        ends = (np.stack(last_states), np.stack(last_cells))
        return (x, *ends[: 1 if cell is None else 2])

    return outputs


REFERENCES: Functions = {
    # GELU, with a hyperbolic tangent for the normal distribution.
    "gelu_tanh": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + GELU_CUBE * x**3))) / 2,
    # Positive values as they are; negative ones times a slope, one or one for each element.
    "leaky_relu": lambda x, slope: np.where(x > 0, x, slope * x),
    # The last step of each sequence.
    "sequence_last": lambda data, lengths=None: data[
        steps(data, lengths) - 1, np.arange(data.shape[1])
    ],
    "dropout_inference": lambda data, rate: data,
    "gelu": lambda x: x * special.ndtr(x),
    "hard_shrink": lambda x, threshold: np.where(np.abs(x) > threshold, x, 0),
    "hard_swish": lambda x: x * hard_sigmoid(x),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "selu": lambda x: SELU_SCALE * elu(x, SELU_ALPHA),
    "silu": lambda x: x * special.expit(x),
    "soft_shrink": lambda x, threshold: x - np.clip(x, -threshold, threshold),
    # As `elu`, with an exponential stretched so that its derivative is one at zero.
    "celu": lambda x, slope: np.where(x > 0, x, slope * np.expm1(x / slope)),
    "gru": recurrent(gru),
    "lstm": recurrent(lstm),
    "rnn_relu": recurrent(plain(lambda x: np.maximum(x, 0))),
    "rnn_tanh": recurrent(plain(np.tanh)),
}

PROPERTIES: Functions = {"alpha_dropout": alpha_dropout, "dropout": dropout}
