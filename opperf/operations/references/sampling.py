"""Random numbers: their expected means and variances, and the densities of samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from opperf.operations.references.reference import STANDARD_ERRORS, Array, Functions, Pairs, Shape


@dataclass(frozen=True)
class Moments:
    """Expected mean and variance of draws after `transform`."""

    mean: Any
    variance: Any
    transform: Callable[[Array], Array] = lambda draws: draws
    """For distributions without finite moments, to one that has them."""


def has_moments(moments: Callable[..., Moments]) -> Callable[..., Pairs]:
    """The property of draws that, standardised by the expected moments, they have mean zero and
    variance one, within `STANDARD_ERRORS`."""

    def pairs(outputs: list[Array], **parameters: Any) -> Pairs:
        own = moments(**{name: per_row(value) for name, value in parameters.items()})
        numbers = own.transform(outputs[0].astype(float))
        if not np.any(own.variance):
            # A coin with two heads.
            return ((numbers, np.broadcast_to(own.mean, numbers.shape)),)
        standard = ((numbers - own.mean) / np.sqrt(own.variance)).ravel()
        squares = standard**2
        within = [
            abs(standard.mean()) <= STANDARD_ERRORS / np.sqrt(standard.size),
            # All squares of a fair coin's draws are one, so that their deviation is zero.
            abs(squares.mean() - 1)
            <= STANDARD_ERRORS * squares.std() / np.sqrt(standard.size) + 1e-6,
        ]
        return ((within, [True, True]), (len(np.unique(numbers)) > 1, True))

    return pairs


def per_row(value: Any) -> Any:
    """A vector of parameters as a column, one for each row of draws; any other value as it is."""
    return value[:, None] if isinstance(value, np.ndarray) and value.ndim == 1 else value


def by_scipy(distribution: Any, *names: str) -> Callable[..., Moments]:
    """The moments of one of SciPy's distributions, which takes the parameters in this order."""
    return lambda **values: Moments(*distribution.stats(*(values[name] for name in names)))


DISTRIBUTIONS: dict[str, Callable[..., Moments]] = {
    "beta": by_scipy(stats.beta, "a", "b"),
    "binomial": lambda n, p: Moments(n * p, n * p * (1 - p)),
    # The moments are not finite; the arctangent is uniform.
    "cauchy": lambda: Moments(0.0, np.pi**2 / 12, np.arctan),
    "chi_square": lambda df: Moments(df, 2 * df),
    "exponential": lambda scale: Moments(scale, scale**2),
    "f": by_scipy(stats.f, "df1", "df2"),
    "gamma": lambda shape, scale: Moments(shape * scale, shape * scale**2),
    "generalized_negative_binomial": lambda mu, alpha: Moments(mu, mu + alpha * mu**2),
    "geometric": lambda p: Moments(1 / p, (1 - p) / p**2),
    "gumbel": lambda loc, scale: Moments(loc + scale * np.euler_gamma, (np.pi * scale) ** 2 / 6),
    "hypergeometric": lambda good, bad, draws: Moments(
        *stats.hypergeom.stats(good + bad, good, draws)
    ),
    "laplace": lambda loc, scale: Moments(loc, 2 * scale**2),
    "logistic": lambda loc, scale: Moments(loc, (np.pi * scale) ** 2 / 3),
    "log_normal": lambda mean, sigma: Moments(mean, sigma**2, np.log),
    "log_series": by_scipy(stats.logser, "p"),
    "negative_binomial": by_scipy(stats.nbinom, "failures", "p"),
    "noncentral_chi_square": by_scipy(stats.ncx2, "df", "noncentrality"),
    "normal": lambda loc, scale: Moments(loc, scale**2),
    # The variance may not be finite; the logarithm is exponential.
    "pareto": lambda a: Moments(1 / a, 1 / a**2, np.log1p),
    "poisson": lambda rate: Moments(rate, rate),
    "power": lambda a: Moments(a / (a + 1), a / (a + 1) ** 2 / (a + 2)),
    "rayleigh": lambda scale: Moments(scale * np.sqrt(np.pi / 2), (2 - np.pi / 2) * scale**2),
    "student_t": lambda df: Moments(0.0, df / (df - 2)),
    "triangular": lambda low, mode, high: Moments(
        (low + mode + high) / 3,
        (low**2 + mode**2 + high**2 - low * mode - low * high - mode * high) / 18,
    ),
    "uniform": lambda low, high: Moments((low + high) / 2, (high - low) ** 2 / 12),
    "uniform_integer": lambda low, high: Moments(
        (low + high - 1) / 2, ((high - low) ** 2 - 1) / 12
    ),
    "wald": lambda mean, scale: Moments(mean, mean**3 / scale),
    "weibull": by_scipy(stats.weibull_min, "a"),
}


def class_moments(probabilities: Array) -> Moments:
    """Moments of class numbers drawn by their probabilities, for each row."""
    classes = np.arange(probabilities.shape[1])
    mean = probabilities @ classes
    return Moments(mean[:, None], (probabilities @ classes**2 - mean**2)[:, None])


def categorical(outputs: list[Array], probabilities: Array) -> Pairs:
    """The pairs of draws of classes, and of the logarithm of the probability of each."""
    yield from has_moments(class_moments)(outputs[:1], probabilities=probabilities)
    for logarithm in outputs[1:]:
        yield logarithm, np.log(np.take_along_axis(probabilities, outputs[0], 1))


def distinct_categories(outputs: list[Array], probabilities: Array, count: int) -> Pairs:
    """The pairs of draws of distinct classes in each row, likely ones more often."""
    (made,) = outputs
    rows, classes = probabilities.shape
    yield made.shape, (rows, count)
    yield (made.min() >= 0, made.max() < classes), (True, True)
    yield [len(np.unique(row)) for row in made], [count] * rows
    drawn = np.take_along_axis(probabilities, made, 1).mean()
    yield drawn > probabilities.mean() or count == classes, True


def multinomial(outputs: list[Array], n: int, probabilities: Any, size: Shape) -> Pairs:
    """The pairs of the counts of each class in `n` trials."""
    (made,) = outputs
    yield made.sum(-1), np.full(size, n)
    for column, p in zip(made.T, probabilities, strict=True):
        yield from has_moments(DISTRIBUTIONS["binomial"])([column[:, None]], n=n, p=float(p))


def choice(
    outputs: list[Array], population: int, size: Shape, replace: bool, weights: Array | None = None
) -> Pairs:
    """The pairs of draws of numbers below `population`, which repeat only if `replace` is set, as
    likely as each other or by weights."""
    (made,) = outputs
    yield made.shape, size
    yield (made.min() >= 0, made.max() < population), (True, True)
    if replace and weights is not None:
        yield from has_moments(class_moments)([made], probabilities=weights[None])
    elif replace:
        yield from has_moments(DISTRIBUTIONS["uniform_integer"])([made], low=0, high=population)
    # Few draws of many numbers may differ by chance.
    if not replace or made.size >= population:
        yield len(np.unique(made)) < made.size, replace


def log_uniform_classes(outputs: list[Array], limit: int, shape: Shape) -> Pairs:
    """The pairs of distinct classes of rows, small ones more often, and of the draws they took."""
    classes, tries = outputs
    yield classes.shape, shape
    yield (classes.min() >= 0, classes.max() < limit), (True, True)
    yield [len(np.unique(row)) for row in classes], [shape[1]] * shape[0]
    yield np.median(classes) < limit / 4, True
    yield tries >= shape[1], np.ones(shape[0], bool)


def shuffle(outputs: list[Array], data: Array) -> Pairs:
    """The pairs of the same rows in another order."""
    (made,) = outputs
    made, data = made.reshape(len(made), -1), data.reshape(len(data), -1)
    yield made[np.lexsort(made.T)], data[np.lexsort(data.T)]
    yield np.array_equal(made, data), False


def density(logarithm: Callable[..., Array]) -> Callable[..., Array]:
    """The function of the density or its logarithm, with one set of parameters for each row or for
    each sample."""

    def at(sample: Array, is_log: bool, **parameters: Array) -> Array:
        of_each = {
            name: value if value.ndim == sample.ndim else value[:, None]
            for name, value in parameters.items()
        }
        made = logarithm(sample, **of_each)
        return made if is_log else np.exp(made)

    return at


def dirichlet(sample: Array, alpha: Array) -> Array:
    """The logarithm of the Dirichlet density of points, whose coordinates are the last axis."""
    constant = special.gammaln(alpha.sum(-1)) - special.gammaln(alpha).sum(-1)
    return constant + ((alpha - 1) * np.log(sample)).sum(-1)


DENSITIES: dict[str, Callable[..., Array]] = {
    "dirichlet": dirichlet,
    "exponential": lambda sample, rate: stats.expon.logpdf(sample, scale=1 / rate),
    "gamma": lambda sample, shape, rate: stats.gamma.logpdf(sample, shape, scale=1 / rate),
    "generalized_negative_binomial": lambda sample, mu, alpha: stats.nbinom.logpmf(
        sample, 1 / alpha, 1 / (mu * alpha + 1)
    ),
    "negative_binomial": lambda sample, failures, p: stats.nbinom.logpmf(sample, failures, p),
    "normal": lambda sample, loc, scale: stats.norm.logpdf(sample, loc, scale),
    "poisson": lambda sample, rate: stats.poisson.logpmf(sample, rate),
    "uniform": lambda sample, low, high: stats.uniform.logpdf(sample, low, high - low),
}

REFERENCES: Functions = {
    f"{name}_density": density(function) for name, function in DENSITIES.items()
}

PROPERTIES: Functions = {
    **{f"random_{name}": has_moments(moments) for name, moments in DISTRIBUTIONS.items()},
    "random_categorical": categorical,
    "random_choice": choice,
    "random_distinct_categories": distinct_categories,
    "random_log_uniform_classes": log_uniform_classes,
    "random_multinomial": multinomial,
    "shuffle": shuffle,
}
