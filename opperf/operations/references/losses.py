"""Losses. Most have a `reduction` of all elements or samples: "none", "mean" or "sum"."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from opperf.operations.references.reference import Array, Functions


def smooth_l1(x: Array, sigma: float) -> Array:
    """A parabola around zero and straight lines beyond."""
    square = sigma**2
    near = np.abs(x) < 1 / square
    return np.where(near, 0.5 * square * x**2, np.abs(x) - 0.5 / square)


def softmax_cross_entropy(data: Array, label: Array) -> Array:
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
    losses = [
        ctc_loss_of_one(logarithms[:, i], classes.astype(int)) for i, classes in enumerate(label)
    ]
    return np.array(losses)


def ctc_loss_of_log_probabilities(
    log_probabilities: Array, label: Array, steps: Array, lengths: Array, reduction: str = "mean"
) -> Array:
    """The loss of sequences of a length each; the mean is of losses divided by labels' lengths."""
    losses = np.array(
        [
            ctc_loss_of_one(log_probabilities[:count, i], classes[:length].astype(int))
            for i, (classes, count, length) in enumerate(zip(label, steps, lengths, strict=True))
        ]
    )
    return reduce(losses / np.asarray(lengths) if reduction == "mean" else losses, reduction)


def reduce(losses: Array, reduction: str) -> Array:
    """The losses themselves, their mean or their sum."""
    return {"none": losses, "mean": losses.mean(), "sum": losses.sum()}[reduction]


def huber_loss(x: Array, y: Array, delta: float = 1.0) -> Array:
    """Half the squares of differences up to `delta`, and straight lines beyond."""
    apart = np.abs(x - y)
    return np.where(apart <= delta, 0.5 * apart**2, delta * (apart - 0.5 * delta))


def binary_cross_entropy(x: Array, y: Array, weight: Array | float = 1.0) -> Array:
    """The negative log likelihood of yes or no, by the probability of yes."""
    return -(y * np.log(x) + (1 - y) * np.log1p(-x)) * weight


def binary_cross_entropy_of_logits(
    x: Array, y: Array, weight: Array | float = 1.0, positive_weight: Array | float = 1.0
) -> Array:
    """The negative log likelihood of yes or no, by the logit of yes; a yes may count more."""
    return -(positive_weight * y * special.log_expit(x) + (1 - y) * special.log_expit(-x)) * weight


def poisson_loss(x: Array, y: Array, is_log: bool, full: bool, epsilon: float) -> Array:
    """The negative log likelihood of counts by their rates, or these rates' logarithms. Without
    the term of the counts alone, or with Stirling's approximation of it for counts above one."""
    made = np.exp(x) - y * x if is_log else x - y * np.log(x + epsilon)
    if full:
        counts = np.where(y > 1, y, 1.0)
        stirling = counts * np.log(counts) - counts + 0.5 * np.log(2 * np.pi * counts)
        made = made + np.where(y > 1, stirling, 0.0)
    return made


def cosine_embedding_loss(x: Array, y: Array, sign: Array, margin: float = 0.0) -> Array:
    """One minus the cosine of alike pairs (1), and that of others (-1) above a margin."""
    lengths = np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
    cosines = (x * y).sum(-1) / lengths
    return np.where(sign == 1, 1 - cosines, np.maximum(0, cosines - margin))


def triplet_margin_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    margin: float = 1.0,
    order: float = 2.0,
    epsilon: float = 1e-6,
    swap: bool = False,
) -> Array:
    """The amount that the distance to another class lacks to exceed that to the own one by a
    margin. With `swap`, the other's is that to the nearer one of anchor and positive."""

    def distance(x: Array, other: Array) -> Array:
        made: Array = (np.abs(x - other + epsilon) ** order).sum(-1) ** (1 / order)
        return made

    far = distance(anchor, negative)
    if swap:
        far = np.minimum(far, distance(positive, negative))
    return np.maximum(0, margin + distance(anchor, positive) - far)


def multi_margin_loss(
    data: Array, label: Array, power: float = 1, margin: float = 1, weight: Array | None = None
) -> Array:
    """The amounts that the right class's score lacks to exceed others by a margin, on average."""
    samples = np.arange(len(data))
    short = np.maximum(0, margin - data[samples, label][:, None] + data) ** power
    short[samples, label] = 0
    made = short if weight is None else short * weight[label][:, None]
    return made.sum(1) / data.shape[1]


def multilabel_margin_loss(data: Array, label: Array) -> Array:
    """The amounts that each right class's score lacks to exceed each wrong one by one, over the
    classes' number. A sample's classes end at the first -1."""
    losses = []
    for scores, classes in zip(data, label, strict=True):
        right = classes[: np.argmax(classes < 0)] if (classes < 0).any() else classes
        wrong = np.delete(scores, right)
        short = np.maximum(0, 1 - scores[right][:, None] + wrong)
        losses.append(short.sum() / len(scores))
    return np.array(losses)


def negative_log_likelihood(
    data: Array,
    label: Array,
    weight: Array | None = None,
    ignored: int = -100,
    reduction: str = "mean",
) -> Array:
    """The negative logarithms of the right classes' probabilities, classes along the second axis;
    the mean is by the classes' weights, and the ignored class has none."""
    counted = label != ignored
    right = np.where(counted, label, 0)
    chosen = np.take_along_axis(data, np.expand_dims(right, 1), 1).squeeze(1)
    weights = np.ones(data.shape[1]) if weight is None else weight
    shares = weights[right] * counted
    losses = -chosen * shares
    return losses.sum() / shares.sum() if reduction == "mean" else reduce(losses, reduction)


def cross_entropy(
    data: Array,
    label: Array,
    weight: Array | None = None,
    ignored: int = -100,
    smoothing: float = 0.0,
    reduction: str = "mean",
) -> Array:
    """The negative log likelihood of the right class by scores of all, of whose probability the
    smoothing is a share that all classes have alike."""
    made = special.log_softmax(data, 1)
    loss = negative_log_likelihood(made, label, weight, ignored, reduction)
    if not smoothing:
        return loss
    assert weight is None and (label != ignored).all()
    return (1 - smoothing) * loss + smoothing * reduce(-made.mean(1), reduction)


def reduced(loss: Callable[..., Array]) -> Callable[..., Array]:
    """The loss of all elements or samples, by default their mean."""
    return lambda reduction="mean", **inputs: reduce(loss(**inputs), reduction)


REDUCED: Functions = {
    "absolute_error_loss": lambda x, y: np.abs(x - y),
    "binary_cross_entropy": binary_cross_entropy,
    "binary_cross_entropy_of_logits": binary_cross_entropy_of_logits,
    "cosine_embedding_loss": cosine_embedding_loss,
    # Distances of alike pairs (1), and what those of others (-1) lack of the margin.
    "hinge_embedding_loss": lambda x, y, margin=1.0: np.where(y == 1, x, np.maximum(0, margin - x)),
    "huber_loss": huber_loss,
    # Of probabilities from a model's log probabilities.
    "kl_divergence": lambda x, y, is_log=False: (
        np.exp(y) * (y - x) if is_log else special.xlogy(y, y) - y * x
    ),
    # What one score lacks to be above the other one by a margin (1), or below it (-1).
    "margin_ranking_loss": lambda x, y, order, margin=0.0: np.maximum(0, -order * (x - y) + margin),
    "multi_margin_loss": multi_margin_loss,
    "multilabel_margin_loss": multilabel_margin_loss,
    "poisson_loss": poisson_loss,
    # Huber's loss divided by where it becomes linear.
    "smooth_l1_loss": lambda x, y, beta=1.0: huber_loss(x, y, beta) / beta,
    # The logistic loss of scores, for classes -1 and 1.
    "soft_margin_loss": lambda x, y: np.log1p(np.exp(-y * x)),
    "squared_error_loss": lambda x, y: (x - y) ** 2,
    "triplet_margin_loss": triplet_margin_loss,
}

REFERENCES: Functions = {name: reduced(loss) for name, loss in REDUCED.items()}
