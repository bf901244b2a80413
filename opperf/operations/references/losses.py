"""Losses."""

from __future__ import annotations

import numpy as np
from scipy import special

from opperf.operations.references.reference import Array, references


def smooth_l1(x: Array, sigma: float) -> Array:
    """A parabola around zero and straight lines beyond."""
    square = sigma**2
    near = np.abs(x) < 1 / square
    return np.where(near, 0.5 * square * x**2, np.abs(x) - 0.5 / square)


def cross_entropy(data: Array, label: Array) -> Array:
    """The sum of the negative logarithms of the right classes' probabilities."""
    right = special.log_softmax(data, -1)[np.arange(len(data)), label.astype(int)]
    return np.array([-right.sum()])


def ctc_loss_of_one(logarithms: Array, label: Array) -> float:
    """The negative logarithm of a label's probability over all alignments, by the forward
    algorithm, on the label with blanks around its symbols."""
    symbols = np.zeros(2 * len(label) + 1, int)
    symbols[1::2] = label
    alike = np.concatenate([[True, True], symbols[2:] == symbols[:-2]])
    reached = np.full(len(symbols), -np.inf)
    reached[:2] = logarithms[0, symbols[:2]]
    for step in logarithms[1:]:
        one = np.concatenate([[-np.inf], reached[:-1]])
        two = np.where(alike, -np.inf, np.concatenate([[-np.inf] * 2, reached[:-2]]))
        reached = special.logsumexp([reached, one, two], axis=0) + step[symbols]
    return -float(special.logsumexp(reached[-2:]))


def ctc_loss(data: Array, label: Array) -> Array:
    """The loss of each sequence of a batch; the blank comes first."""
    logarithms = special.log_softmax(data, -1)
    losses = [ctc_loss_of_one(logarithms[:, i], one.astype(int)) for i, one in enumerate(label)]
    return np.array(losses)


REFERENCES = references(
    {
        "ctc_loss": ctc_loss,
        "smooth_l1": smooth_l1,
        "softmax_cross_entropy": cross_entropy,
    }
)
