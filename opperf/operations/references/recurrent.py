"""Recurrent layers, step by step: the outputs of the last layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from opperf.operations.references.reference import Array, references

Step = Callable[[Array, Array, Array, Array], tuple[Array, Array]]
"""Computes the new state and the new cell, from the input's part of each gate, the state's part,
the old state and the old cell."""


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
        np.split(one, 3, axis=-1) for one in (by_input, by_state)
    )
    part = special.expit(update + state_update)
    candidate = np.tanh(new + special.expit(reset + state_reset) * state_new)
    return (1 - part) * candidate + part * state, cell


def recurrent(step: Step) -> Callable[..., Array]:
    """The function of layers of one kind. Weights and biases are those of the input and of the
    state in turn, direction by direction and layer by layer."""

    def outputs(
        data: Array,
        weights: list[Array],
        biases: list[Array],
        state: Array,
        bidirectional: bool,
        cell: Any = None,
    ) -> Array:
        directions = 2 if bidirectional else 1
        cells = np.zeros_like(state) if cell is None else cell
        x = data
        for first in range(0, len(state), directions):
            made = []
            for place in range(first, first + directions):
                (w, u), (b, c) = (all_of[2 * place : 2 * place + 2] for all_of in (weights, biases))
                order = slice(None, None, -1 if place > first else 1)
                h, memory, steps = state[place], cells[place], []
                for one in x[order]:
                    h, memory = step(one @ w.T + b, h @ u.T + c, h, memory)
                    steps.append(h)
                made.append(np.stack(steps)[order])
            x = np.concatenate(made, axis=-1)
        return x

    return outputs


REFERENCES = references(
    {
        "gru": recurrent(gru),
        "lstm": recurrent(lstm),
        "rnn_relu": recurrent(plain(lambda x: np.maximum(x, 0))),
        "rnn_tanh": recurrent(plain(np.tanh)),
    }
)
