"""Recurrent layers, step by step: the outputs of the last layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from opperf.operations.references.reference import Array, references

Step = Callable[[Array, Array, Array, Array], tuple[Array, Array]]
"""A new state, and a new cell, from what the input and the old state give to each gate, from that
state, and from the old cell."""


def plain(activation: Callable[[Array], Array]) -> Step:
    """One gate."""
    return lambda given, kept, state, cell: (activation(given + kept), cell)


def lstm(given: Array, kept: Array, state: Array, cell: Array) -> tuple[Array, Array]:
    """The gates of input, forgetting, candidate and output."""
    into, forget, candidate, out = np.split(given + kept, 4, axis=-1)
    cell = special.expit(forget) * cell + special.expit(into) * np.tanh(candidate)
    return special.expit(out) * np.tanh(cell), cell


def gru(given: Array, kept: Array, state: Array, cell: Array) -> tuple[Array, Array]:
    """The gates of reset, update and candidate."""
    (reset, update, new), (kept_reset, kept_update, kept_new) = (
        np.split(one, 3, axis=-1) for one in (given, kept)
    )
    part = special.expit(update + kept_update)
    candidate = np.tanh(new + special.expit(reset + kept_reset) * kept_new)
    return (1 - part) * candidate + part * state, cell


def recurrent(step: Step) -> Callable[..., Array]:
    """Layers of one kind. Weights and biases are those of the input and of the state in turn,
    direction by direction and layer by layer."""

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
