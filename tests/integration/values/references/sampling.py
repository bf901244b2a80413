"""Random numbers: the means and variances they should have, and the densities of samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from references import Array, Pairs, Property, Reference


@dataclass(frozen=True)
class Moments:
    """Mean and variance of what is drawn, after `measured` has made them finite."""

    mean: Any
    variance: Any
    measured: Callable[[Array], Array] = lambda drawn: drawn


ERRORS = 5.0
"""Standard errors that a mean or a variance may be off by: one right draw in a million is."""


def drawn(moments: Callable[..., Moments]) -> Property:
    """The property of an operator that draws: mean and variance of its numbers, each brought to
    mean zero and variance one by the moments it should have."""

    def holds(outputs: list[Array], **given: Any) -> Pairs:
        own = moments(**{name: rows(value) for name, value in given.items()})
        numbers = own.measured(outputs[0].astype(float))
        standard = ((numbers - own.mean) / np.sqrt(own.variance)).ravel()
        squares = standard**2
        within = [
            abs(standard.mean()) <= ERRORS / np.sqrt(standard.size),
            # Of an even coin all squares are one, and their spread is nothing.
            abs(squares.mean() - 1) <= ERRORS * squares.std() / np.sqrt(standard.size) + 1e-6,
        ]
        return ((within, [True, True]), (len(np.unique(numbers)) > 1, True))

    return holds


def rows(value: Any) -> Any:
    """Parameters of a row each, to go with as many numbers in each row."""
    return value[:, None] if isinstance(value, np.ndarray) and value.ndim == 1 else value


def uniform(low: Any, high: Any, **_: Any) -> Moments:
    return Moments((low + high) / 2, (high - low) ** 2 / 12)


def normal(loc: Any, scale: Any, **_: Any) -> Moments:
    return Moments(loc, scale**2)


def gamma(alpha: Any, beta: Any, **_: Any) -> Moments:
    return Moments(alpha * beta, alpha * beta**2)


def exponential(lam: Any, **_: Any) -> Moments:
    return Moments(1 / lam, 1 / lam**2)


def poisson(lam: Any, **_: Any) -> Moments:
    return Moments(lam, lam)


def binomial(n: Any, p: Any, **_: Any) -> Moments:
    return Moments(n * p, n * p * (1 - p))


def negative_binomial(k: Any, p: Any, **_: Any) -> Moments:
    return Moments(k * (1 - p) / p, k * (1 - p) / p**2)


def generalized(mu: Any, alpha: Any, **_: Any) -> Moments:
    return Moments(mu, mu + alpha * mu**2)


def whole(low: int, high: int, **_: Any) -> Moments:
    return Moments((low + high - 1) / 2, ((high - low) ** 2 - 1) / 12)


def numpy_gamma(shape: float, scale: float, **_: Any) -> Moments:
    return Moments(shape * scale, shape * scale**2)


def weibull(a: float, **_: Any) -> Moments:
    first, second = (special.gamma(1 + k / a) for k in (1, 2))
    return Moments(first, second - first**2)


def pareto(a: float, **_: Any) -> Moments:
    """The logarithm is exponential; the numbers themselves may have no variance."""
    return Moments(1 / a, 1 / a**2, np.log1p)


def of_classes(data: Array, **_: Any) -> Moments:
    """Draws of classes by their probabilities."""
    classes = np.arange(data.shape[1])
    mean = data @ classes
    return Moments(mean[:, None], (data @ classes**2 - mean**2)[:, None])


def classes_with_logarithm(outputs: list[Array], data: Array, **given: Any) -> Pairs:
    """Draws of classes, and the logarithm of the probability of each."""
    yield from drawn(of_classes)(outputs[:1], data=data)
    for logarithm in outputs[1:]:
        yield logarithm, np.log(np.take_along_axis(data, outputs[0], 1))


def counts(outputs: list[Array], n: int, pvals: Any, size: Any) -> Pairs:
    """How often each class comes up, in a number of throws."""
    (made,) = outputs
    yield made.sum(-1), np.full(size, n)
    for column, p in zip(made.T, pvals, strict=True):
        yield from drawn(binomial)([column[:, None]], n=n, p=p)


def picks(outputs: list[Array], a: int, size: Any, replace: bool, weighted: bool) -> Pairs:
    """Numbers below a limit, each once at most if none is put back."""
    (made,) = outputs
    yield made.shape, size
    yield (made.min() >= 0, made.max() < a), (True, True)
    yield from drawn(whole)([made], low=0, high=a) if replace else ()
    yield len(np.unique(made)) < made.size, replace


def zipfian(outputs: list[Array], range_max: int, shape: Any) -> Pairs:
    """Distinct classes in each row, small ones more often, and how many draws it took."""
    classes, tries = outputs
    yield classes.shape, shape
    yield (classes.min() >= 0, classes.max() < range_max), (True, True)
    yield [len(np.unique(row)) for row in classes], [shape[1]] * shape[0]
    yield np.median(classes) < range_max / 4, True
    yield tries >= shape[1], np.ones(shape[0], bool)


def shuffled(outputs: list[Array], data: Array) -> Pairs:
    """The same rows in another order."""
    (made,) = outputs
    yield made[np.lexsort(made.T)], data[np.lexsort(data.T)]
    yield np.array_equal(made, data), False


DISTRIBUTIONS: dict[str, Callable[..., Moments]] = {
    "binomial": binomial,
    "exponential": exponential,
    "gamma": gamma,
    "generalized_negative_binomial": generalized,
    "negative_binomial": negative_binomial,
    "normal": normal,
    "poisson": poisson,
    "uniform": uniform,
}

SAMPLED = {
    **DISTRIBUTIONS,
    "normal": lambda mu, sigma, **_: normal(mu, sigma),
}
"""Distributions as operators have them that take parameters for each row."""

NUMPY: dict[str, Callable[..., Moments]] = {
    "bernoulli": lambda prob, **_: binomial(1, prob),
    "exponential": lambda scale, **_: exponential(1 / scale),
    "gamma": numpy_gamma,
    "gumbel": lambda loc, scale, **_: Moments(
        loc + scale * np.euler_gamma, (np.pi * scale) ** 2 / 6
    ),
    "laplace": lambda loc, scale, **_: Moments(loc, 2 * scale**2),
    "logistic": lambda loc, scale, **_: Moments(loc, (np.pi * scale) ** 2 / 3),
    "normal": normal,
    "normal_n": normal,
    "pareto": pareto,
    "powerd": lambda a, **_: Moments(a / (a + 1), a / (a + 1) ** 2 / (a + 2)),
    "rayleigh": lambda scale, **_: Moments(scale * np.sqrt(np.pi / 2), (2 - np.pi / 2) * scale**2),
    "uniform": uniform,
    "uniform_n": uniform,
    "weibull": weibull,
}

PROPERTIES: dict[str, Property] = {
    **{f"random_{name}": drawn(moments) for name, moments in DISTRIBUTIONS.items()},
    **{
        f"_random_{name}_like": drawn(moments)
        for name, moments in DISTRIBUTIONS.items()
        if name != "binomial"
    },
    **{f"sample_{name}": drawn(moments) for name, moments in SAMPLED.items()},
    **{f"_npi_{name}": drawn(moments) for name, moments in NUMPY.items()},
    "_npi_choice": picks,
    "_npi_multinomial": counts,
    "_sample_unique_zipfian": zipfian,
    "random_randint": drawn(whole),
    "sample_categorical": classes_with_logarithm,
    "shuffle": shuffled,
}


def density(logarithm: Callable[..., Array]) -> Reference:
    """The reference of a density, from its logarithm: parameters are of a row each."""

    def at(sample: Array, is_log: bool, **parameters: Array) -> Array:
        made = logarithm(sample, **{name: value[:, None] for name, value in parameters.items()})
        return made if is_log else np.exp(made)

    return at


def dirichlet(sample: Array, alpha: Array) -> Array:
    """Of points of a simplex, along the last axis."""
    constant = special.gammaln(alpha.sum(-1)) - special.gammaln(alpha).sum(-1)
    return constant + ((alpha - 1) * np.log(sample)).sum(-1)


def failures(sample: Array, k: Any, p: Any) -> Array:
    """Negative binomial, as SciPy has it."""
    return stats.nbinom.logpmf(sample, k, p)


REFERENCES: dict[str, Reference] = {
    f"random_pdf_{name}": density(logarithm)
    for name, logarithm in {
        "dirichlet": dirichlet,
        "exponential": lambda sample, lam: stats.expon.logpdf(sample, scale=1 / lam),
        "gamma": lambda sample, alpha, beta: stats.gamma.logpdf(sample, alpha, scale=1 / beta),
        "generalized_negative_binomial": lambda sample, mu, alpha: failures(
            sample, 1 / alpha, 1 / (mu * alpha + 1)
        ),
        "negative_binomial": failures,
        "normal": lambda sample, mu, sigma: stats.norm.logpdf(sample, mu, sigma),
        "poisson": lambda sample, lam: stats.poisson.logpmf(sample, lam),
        "uniform": lambda sample, low, high: stats.uniform.logpdf(sample, low, high - low),
    }.items()
}
