"""Recurrent layers, step by step: the outputs of the last layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from opperf.operations.references.reference import Array, Functions

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
    "gru": recurrent(gru),
    "lstm": recurrent(lstm),
    "rnn_relu": recurrent(plain(lambda x: np.maximum(x, 0))),
    "rnn_tanh": recurrent(plain(np.tanh)),
}
