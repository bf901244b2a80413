"""Losses.

Most have a `reduction` of the losses of all elements or samples: "none", "mean" or "sum".
"""

from __future__ import annotations

import numpy as np
from scipy import special

from opperf.operations.references.reference import Array


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
    log_probabilities: Array,
    label: Array,
    steps: Array,
    lengths: Array,
    reduction: str = "mean",
) -> Array:
    """The loss of sequences that have a length each, as do their labels; the mean is of losses
    divided by the lengths of labels."""
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


def absolute_error_loss(x: Array, y: Array, reduction: str = "mean") -> Array:
    """Absolute differences."""
    return reduce(np.abs(x - y), reduction)


def squared_error_loss(x: Array, y: Array, reduction: str = "mean") -> Array:
    """Squared differences."""
    return reduce((x - y) ** 2, reduction)


def huber_loss(x: Array, y: Array, reduction: str = "mean", delta: float = 1.0) -> Array:
    """Half the squares of differences up to `delta`, and straight lines beyond."""
    apart = np.abs(x - y)
    made = np.where(apart <= delta, 0.5 * apart**2, delta * (apart - 0.5 * delta))
    return reduce(made, reduction)


def smooth_l1_loss(x: Array, y: Array, reduction: str = "mean", beta: float = 1.0) -> Array:
    """Huber's loss divided by where it becomes linear."""
    return reduce(huber_loss(x, y, "none", beta) / beta, reduction)


def soft_margin_loss(x: Array, y: Array, reduction: str = "mean") -> Array:
    """The logistic loss of scores, for classes -1 and 1."""
    return reduce(np.log1p(np.exp(-y * x)), reduction)


def hinge_embedding_loss(x: Array, y: Array, reduction: str = "mean", margin: float = 1.0) -> Array:
    """Distances of alike pairs (1), and what those of others (-1) lack of the margin."""
    return reduce(np.where(y == 1, x, np.maximum(0, margin - x)), reduction)


def binary_cross_entropy(
    x: Array, y: Array, weight: Array | None = None, reduction: str = "mean"
) -> Array:
    """The negative log likelihood of yes or no, by the probability of yes."""
    made = -(y * np.log(x) + (1 - y) * np.log1p(-x))
    return reduce(made if weight is None else made * weight, reduction)


def binary_cross_entropy_of_logits(
    x: Array,
    y: Array,
    weight: Array | None = None,
    positive_weight: Array | None = None,
    reduction: str = "mean",
) -> Array:
    """The negative log likelihood of yes or no, by the logit of yes; a yes may count more."""
    positive = 1.0 if positive_weight is None else positive_weight
    made = -(positive * y * special.log_expit(x) + (1 - y) * special.log_expit(-x))
    return reduce(made if weight is None else made * weight, reduction)


def kl_divergence(x: Array, y: Array, is_log: bool = False, reduction: str = "mean") -> Array:
    """The divergence of probabilities from a model's log probabilities, element by element."""
    made = np.exp(y) * (y - x) if is_log else special.xlogy(y, y) - y * x
    return reduce(made, reduction)


def poisson_loss(
    x: Array, y: Array, is_log: bool, full: bool, epsilon: float, reduction: str = "mean"
) -> Array:
    """The negative log likelihood of counts by their rates, or these rates' logarithms. Without
    the term of the counts alone, or with Stirling's approximation of it for counts above one."""
    made = np.exp(x) - y * x if is_log else x - y * np.log(x + epsilon)
    if full:
        counts = np.where(y > 1, y, 1.0)
        stirling = counts * np.log(counts) - counts + 0.5 * np.log(2 * np.pi * counts)
        made = made + np.where(y > 1, stirling, 0.0)
    return reduce(made, reduction)


def margin_ranking_loss(
    x: Array, y: Array, order: Array, margin: float = 0.0, reduction: str = "mean"
) -> Array:
    """The amount by which one score misses to be above the other one by a margin (1), or below it
    (-1)."""
    return reduce(np.maximum(0, -order * (x - y) + margin), reduction)


def cosine_embedding_loss(
    x: Array, y: Array, sign: Array, margin: float = 0.0, reduction: str = "mean"
) -> Array:
    """One minus the cosine of alike pairs (1), and that of others (-1) above a margin."""
    lengths = np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
    cosines = (x * y).sum(-1) / lengths
    return reduce(np.where(sign == 1, 1 - cosines, np.maximum(0, cosines - margin)), reduction)


def triplet_margin_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    margin: float = 1.0,
    order: float = 2.0,
    epsilon: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Array:
    """The amount by which the distance to another class misses to exceed that to the own one by a
    margin. With `swap`, the other class's distance is that to the nearer one of anchor and
    positive."""

    def distance(x: Array, other: Array) -> Array:
        made: Array = (np.abs(x - other + epsilon) ** order).sum(-1) ** (1 / order)
        return made

    far = distance(anchor, negative)
    if swap:
        far = np.minimum(far, distance(positive, negative))
    return reduce(np.maximum(0, margin + distance(anchor, positive) - far), reduction)


def multi_margin_loss(
    data: Array,
    label: Array,
    power: float = 1,
    margin: float = 1,
    weight: Array | None = None,
    reduction: str = "mean",
) -> Array:
    """The amounts by which the right class's score misses to exceed each other one by a margin,
    over the classes' number."""
    samples = np.arange(len(data))
    short = np.maximum(0, margin - data[samples, label][:, None] + data) ** power
    short[samples, label] = 0
    made = short if weight is None else short * weight[label][:, None]
    return reduce(made.sum(1) / data.shape[1], reduction)


def multilabel_margin_loss(data: Array, label: Array, reduction: str = "mean") -> Array:
    """The amounts by which each right class's score misses to exceed each wrong one by one, over
    the classes' number. A sample's classes end at the first -1."""
    losses = []
    for scores, classes in zip(data, label, strict=True):
        right = classes[: np.argmax(classes < 0)] if (classes < 0).any() else classes
        wrong = np.delete(scores, right)
        short = np.maximum(0, 1 - scores[right][:, None] + wrong)
        losses.append(short.sum() / len(scores))
    return reduce(np.array(losses), reduction)


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
